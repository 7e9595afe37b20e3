-- A SELECT that stands for a value has one over no rows, too: what its expression says of a sum that is NULL and of a count of 0.
CREATE STREAM Main1 (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/main1.csv';
CREATE TABLE known (srcIP STRING, len INT);
INSERT INTO known VALUES ('10.0.0.1', 1), ('10.0.0.1', 2);

SELECT ts, (SELECT CASE WHEN sum(k.len) > 1 THEN 0 ELSE 1 END FROM known k WHERE k.srcIP = m.srcIP) AS small,
       (SELECT count(*) FROM known k WHERE k.srcIP = m.srcIP HAVING count(*) <= 1) AS few,
       (SELECT sum(k.len) FROM known k WHERE k.srcIP = m.srcIP) AS total
FROM Main1 m
WHERE (SELECT 1 + count(*) FROM known k WHERE k.srcIP = m.srcIP) < 4
