-- A sum beyond BIGINT is an error of that group in that extent; other groups and extents are answered.
CREATE STREAM large (k STRING, n BIGINT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/large.jsonl';

SELECT k, sum(n) AS total, count(*) AS n FROM large [RANGE 20 SECONDS SLIDE 10 SECONDS] GROUP BY k
