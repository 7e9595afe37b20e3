-- CUBE of a column that is NULL itself: grouping() tells the NULLs apart. The whole of no rows is a row.
CREATE TABLE sales (shop STRING, kind STRING, n INT);
INSERT INTO sales VALUES ('x', 'a', 1), ('x', NULL, 2), ('y', 'a', 4);

SELECT shop, upper(kind) AS kind, sum(n) AS n, grouping(shop) AS s, grouping(kind) AS k FROM sales GROUP BY CUBE (shop, kind)
UNION ALL
SELECT shop, kind, sum(n), grouping(shop), grouping(kind) FROM sales WHERE n > 5 GROUP BY GROUPING SETS ((shop, kind), ())
