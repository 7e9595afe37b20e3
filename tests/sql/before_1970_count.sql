-- A relation over distinct values before 1970: they come and go.
CREATE STREAM d (k STRING, n INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/before_1970.csv';

SELECT count(*) AS n FROM (SELECT DISTINCT k FROM d [RANGE 30 SECONDS])
