-- Packet pairs from M1, and the union of M2 and C, that are in corresponding NetFlows, for each 1 minute interval.
CREATE STREAM M1 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/link_m1.csv';
CREATE STREAM M2 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 1 MINUTE) SOURCE 'file://inputs/link_m2.csv';
CREATE STREAM C (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/link_c.csv';

SELECT    M1.srcIP, M1.destIP, M1.ts
FROM      M1, M2 Union C as M3
          [RANGE TUMBLING 1 minute, WA ts]
WHERE     M1.srcIP = M3.destIP and M1.destIP = M3.srcIP and
          M1.srcPort = M3.destPort and M1.destPort = M3.srcPort
