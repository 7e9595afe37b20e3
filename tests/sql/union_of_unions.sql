-- Parentheses behind UNION hold SELECTs, which are put together first; inside FROM, UNION has a stream's name on its right.
CREATE STREAM Main1 (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/main1.csv';
CREATE STREAM Main2 (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/main2.csv';

SELECT len FROM Main1 UNION ALL Main2 WHERE len > 60
UNION ALL (SELECT 1 FROM Main1 UNION (SELECT 2 FROM Main2 UNION ALL SELECT len FROM Main2))
