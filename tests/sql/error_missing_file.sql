CREATE STREAM lost (a INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/lost.csv';
