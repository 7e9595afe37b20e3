-- NATURAL JOIN goes by the columns of both tables: k and n, which stand once. A NULL equals nothing.
CREATE TABLE one (k STRING, n INT, x INT);
INSERT INTO one VALUES ('a', 1, 10), ('a', 2, 20), ('b', 1, 30), (NULL, 1, 40);
CREATE TABLE two (n INT, y STRING, k STRING);
INSERT INTO two VALUES (1, 'p', 'a'), (1, 'q', 'a'), (3, 'r', 'a'), (1, 's', NULL);

SELECT * FROM one NATURAL FULL JOIN two
