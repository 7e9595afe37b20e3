-- Count the number of packets from each source IP for the past 10 minutes; update the results every minute.
CREATE STREAM M (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP,
                   WATERMARK FOR ts AS ts - INTERVAL 30 SECONDS)
  SOURCE 'file://inputs/main.csv';

SELECT    srcIP, count(*) [RANGE 10 minutes, SLIDE 1 minute, WA ts]
FROM      M
GROUP BY  srcIP
