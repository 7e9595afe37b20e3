-- Count the number of packets from each source IP; update the results every minute.
CREATE STREAM Main1 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP,
                   WATERMARK FOR ts AS ts - INTERVAL 30 SECONDS)
  SOURCE 'file://inputs/main.csv';

SELECT srcIP, count(*) [RANGE ALL, SLIDE 1 minute, WA ts]
FROM Main1
GROUP BY srcIP
