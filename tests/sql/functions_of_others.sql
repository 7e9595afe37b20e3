-- Functions of texts over a table; rows they have no value for go to errors.
CREATE TABLE texts (n INT, a STRING, b STRING);
INSERT INTO texts VALUES (1, 'duck', 'luck'), (2, 'kitten', 'kitchen'), (3, '8112189876', '[1, [2, 3]]'), (2, 'a1b22', '{"x": 1, "y": {}}');

SELECT n, a, levenshtein(a, b) AS edits, levenshtein(a, b, 2) AS at_most, jaccard(a, b) AS shared, luhn_check(a) AS valid,
       elt(n, a, b) AS chosen, regexp_extract_all(a, '([a-z])([0-9]+)', 2) AS digits, regexp_instr(a, '[0-9]') AS place,
       json_array_length(b) AS items, json_object_keys(b) AS keys
FROM texts
ORDER BY a FETCH FIRST 3 ROWS ONLY
