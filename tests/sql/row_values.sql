-- Rows of values compared: equal, in a list, before another, and with NULLs, for which some comparisons are NULL and others are not.
CREATE TABLE t (a INT, b INT);
INSERT INTO t VALUES (1, 1), (1, 2), (2, 1), (1, NULL), (NULL, 1), (2, NULL);

SELECT a, b, (a, b) = (1, 2) AS e, (a, b) <> (1, 2) AS n, (a, b) < (1, 2) AS l, (a, b) >= (1, 2) AS g,
       (a, b) IN ((1, 1), (2, 1)) AS i, (a, b) NOT IN ((1, 1), (1, 2)) AS o, (a, b) <=> (1, NULL) AS s
FROM t
