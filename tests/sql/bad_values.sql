-- With ANSI rules a division by zero is an error of the row, not of the query.
CREATE STREAM Main1 (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/main1.csv';

SELECT srcIP, 700 / (len - 40) AS ratio FROM Main1
