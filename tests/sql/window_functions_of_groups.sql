-- Window functions over the groups of a table.
CREATE TABLE sales (shop STRING, day INT, n INT);
INSERT INTO sales VALUES ('x', 1, 5), ('x', 2, 5), ('y', 1, 7), ('y', 3, 1), ('z', 9, 8);

SELECT shop, sum(n) AS total, rank() OVER (ORDER BY sum(n) DESC) AS place, sum(sum(n)) OVER (ORDER BY shop) AS running,
  first_value(shop) OVER (ORDER BY sum(n) DESC, shop) AS best
FROM sales GROUP BY shop
