-- UNION inside FROM is a bag union by position; the window is on the union's time.
CREATE STREAM Main1 (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/main1.csv';
CREATE STREAM Main2 (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/main2.csv';

SELECT srcIP, count(*) AS packets, sum(len) AS bytes
FROM (SELECT srcIP, len, ts FROM Main1 UNION ALL SELECT srcIP, len, ts FROM Main2) AS both [RANGE 1 MINUTE TUMBLING]
GROUP BY srcIP
