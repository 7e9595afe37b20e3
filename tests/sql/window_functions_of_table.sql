-- Ranks, neighbours and frames by orders of their own, over a table with ties and NULLs; beside GROUP BY, in expressions.
CREATE TABLE sales (shop STRING, day INT, n INT);
INSERT INTO sales VALUES ('x', 1, 5), ('x', 2, 5), ('x', 4, NULL), ('y', 1, 7), ('y', 3, 1), ('y', 9, 2), (NULL, 5, 4);

SELECT shop, day, n,
  rank() OVER (PARTITION BY shop ORDER BY n DESC NULLS LAST) AS place,
  sum(n) OVER w AS near,
  lead(n, 1, 0) OVER (ORDER BY day DESC, shop NULLS LAST) AS next,
  n - avg(n) OVER (PARTITION BY shop) AS above,
  sum(n) OVER (ORDER BY day RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS days
FROM sales
WINDOW w AS (PARTITION BY shop ORDER BY day ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)
QUALIFY ntile(7) OVER (ORDER BY day, shop) < 7
