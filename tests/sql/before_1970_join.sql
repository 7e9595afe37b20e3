-- A join of distinct values with rows, both before 1970.
CREATE STREAM d (k STRING, n INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/before_1970.csv';

SELECT x.k AS k, y.n AS n FROM (SELECT DISTINCT k FROM d [RANGE 15 SECONDS]) x, d [NOW] y WHERE x.k <> y.k
