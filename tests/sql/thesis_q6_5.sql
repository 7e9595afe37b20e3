-- Count the number of packets from each source IP for the past 5 minutes; update the result every 1 minute
CREATE STREAM M1 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP,
                   WATERMARK FOR ts AS ts - INTERVAL 30 SECONDS)
  SOURCE 'file://inputs/main.csv';

SELECT srcIP, count(*)  
          [RANGE 5 minutes, SLIDE 1 minute, WA ts]  
FROM M1  
GROUP BY srcIP
