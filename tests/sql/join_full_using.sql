-- A column of USING is one column, whichever row is missing; with an input's name it is that input's own, NULL where its row is missing.
CREATE STREAM Main1 (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/main1.csv';
CREATE STREAM Main2 (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/main2.csv';

SELECT srcIP, b.*, a.srcIP AS one, a.len AS before
FROM Main1 a [RANGE 1 MINUTE] FULL JOIN Main2 b [RANGE 1 MINUTE] USING (srcIP)
WHERE a.srcIP IS NULL OR b.srcIP IS NULL OR a.srcIP = b.srcIP
