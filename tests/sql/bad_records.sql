-- Records that can't be cast, and rows without a time, go to errors(broken); the others are answered.
CREATE STREAM broken (k STRING, n INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/broken.csv';

SELECT k, sum(n) AS total FROM broken [RANGE 10 SECONDS TUMBLING] GROUP BY k
