-- Packet pairs in each minute from M1 and M2, in the same Netflow but in the opposite direction (100 seconds for the n in print).
CREATE STREAM M1 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/link_m1.csv';
CREATE STREAM M2 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 1 MINUTE) SOURCE 'file://inputs/link_m2.csv';

SELECT count(*) [RANGE 1 minute, SLIDE 1 minute, WA M1.ts]
FROM M1 [RANGE 100 seconds, WA ts],
      M2 [RANGE 100 seconds, WA ts]
WHERE M1.srcIP = M2.destIP and M1.destIP = M2.srcIP and
      M1.srcPort = M2.destPort and M1.destPort = M2.srcPort
