-- Rows that are written out, twice: named, and sorted by a column's own name.
SELECT a, b, col3 FROM (VALUES (1, 'x', NULL), (2, NULL, 2.5)) AS v (a, b)
UNION ALL VALUES (3, 'z', 1.0)
