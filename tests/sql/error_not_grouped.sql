CREATE STREAM Main1 (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/main1.csv';
SELECT srcIP, len, count(*)
FROM Main1 [RANGE 1 MINUTE TUMBLING]
GROUP BY srcIP
