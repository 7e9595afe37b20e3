-- Integer / gives DOUBLE, div and % stay integers, casts of text are strict.
CREATE STREAM Main1 (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/main1.csv';

SELECT len / 8 AS eighth, len div 8 AS whole, len % 8 AS rest, CAST(substring(srcIP, 8, 1) AS INT) AS last_number FROM Main1
