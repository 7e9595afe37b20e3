-- UNNEST, LATERAL VIEW, generators in the select list, rows of STRUCTs, arrays side by side, and numbers as rows.
CREATE TABLE items (item STRING, weight INT, tags STRING);
INSERT INTO items VALUES ('lamp', 3, 'light,old'), ('sofa', 80, 'soft'), (NULL, 40, ''), ('lamp', 8, 'new');

SELECT item, tag, place, a, b, i, (SELECT sum(n) FROM range(4) AS r (n)) AS six
FROM items LATERAL VIEW OUTER posexplode(split(nullif(tags, ''), ',')) t AS place, tag
LEFT JOIN UNNEST(array('x', 'y'), array(weight)) AS z (a, b) ON TRUE
CROSS JOIN (SELECT inline(array(named_struct('i', 1))))
