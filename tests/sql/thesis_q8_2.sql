-- Packets from each source and destination pair in the links M1 and M2 for the past minute, every minute.
CREATE STREAM M1 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/link_m1.csv';
CREATE STREAM M2 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 1 MINUTE) SOURCE 'file://inputs/link_m2.csv';

SELECT    srcIP, destIP, count(*)
          [RANGE 1 minute, SLIDE 1 minute, WA ts]
FROM      M1 UNION M2
GROUP BY  srcIP, destIP
