-- Packets in the links M1, M2 and C for the past 5 minutes, every minute.
CREATE STREAM M1 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/link_m1.csv';
CREATE STREAM M2 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 1 MINUTE) SOURCE 'file://inputs/link_m2.csv';
CREATE STREAM C (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/link_c.csv';

SELECT    count(*)
          [RANGE 5 minutes, SLIDE 1 minute, WA ts]
FROM      M1 UNION M2 UNION C
