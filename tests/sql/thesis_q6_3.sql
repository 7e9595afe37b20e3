-- Count the number of packets from each source IP for the past 4 minutes and update the result every minute.
CREATE STREAM packets (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP,
                   WATERMARK FOR ts AS ts - INTERVAL 30 SECONDS)
  SOURCE 'file://inputs/main.csv';

SELECT count(*) [RANGE 4 minutes, SLIDE 1 minute, WA ts]
FROM packets
GROUP BY srcIP
