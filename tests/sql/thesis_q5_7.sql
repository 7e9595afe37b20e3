-- Packet pairs from Main1 and Main2 where the source of the one is the destination of the other, in each 5 minute interval.
CREATE STREAM Main1 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/link_m1.csv';
CREATE STREAM Main2 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 1 MINUTE) SOURCE 'file://inputs/link_m2.csv';

SELECT Main1.srcIP, Main1.destIP, Main2.srcIP, Main2.destIP, Main2.ts
FROM Main1, Main2
    [RANGE TUMBLING 5 minutes, WA ts],
WHERE Main1.srcIP = Main2.destIP
