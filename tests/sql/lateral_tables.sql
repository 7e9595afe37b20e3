-- LATERAL over tables: an aggregate with its row where nothing is found, DISTINCT ON inside, and the nearest rows by ASOF.
CREATE TABLE items (item STRING, weight INT, tags STRING);
INSERT INTO items VALUES ('lamp', 3, 'light,old'), ('sofa', 80, 'soft'), (NULL, 40, ''), ('lamp', 8, 'new');
CREATE TABLE limits (name STRING, most INT);
INSERT INTO limits VALUES ('light', 5), ('none', 1), ('all', 100);

SELECT name, w, c, d.item, b.weight AS below, a.weight AS above
FROM limits
CROSS JOIN LATERAL (SELECT max(weight) AS w, count(*) AS c FROM items WHERE weight < most) m
LEFT JOIN LATERAL (SELECT DISTINCT ON (item) item FROM items WHERE weight < most AND item > 'm' ORDER BY item, weight) d ON TRUE
ASOF LEFT JOIN items b ON most > b.weight
ASOF LEFT JOIN items a ON most <= a.weight
