-- Count the number of network packets in the Main1 link from source IP 202.101.0.0 and 202.101.0.1 in every minute.
-- (ts is given in minutes; without a window the answer is a relation.)
CREATE STREAM Main1 (srcIP STRING, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/minutes.csv';

SELECT    srcIP, ts, count (*)
FROM      Main1
WHERE     srcIP = “202.101.0.0” or srcIP = “202.101.0.1”
GROUP BY  srcIP, ts
