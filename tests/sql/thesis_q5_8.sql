-- Packet pairs where the Main1 packet follows the Main2 packet within 2 minutes, or the Main2 packet the Main1 packet
-- within 3 minutes.
CREATE STREAM Main1 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/link_m1.csv';
CREATE STREAM Main2 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 1 MINUTE) SOURCE 'file://inputs/link_m2.csv';

SELECT Main1.srcIP, Main1.destIP, Main2.srcIP, Main2.destIP, Main2.ts
FROM Main1 [RANGE 3 minutes, WA ts],
    Main2 [RANGE 2 minutes, WA ts]
WHERE Main1.srcIP = Main2.destIP
