-- Packet pairs from Main1 and Main2 where the source of the one is the destination of the other, the Main1 packet
-- less than 2 minutes after the Main2 packet and the Main2 packet less than 3 minutes after the Main1 packet.
CREATE STREAM Main1 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/link_m1.csv';
CREATE STREAM Main2 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 1 MINUTE) SOURCE 'file://inputs/link_m2.csv';

SELECT *  
FROM Main1 [WA ts, RANGE 3 min],  
      Main2 [WA ts, RANGE 2 min]  
WHERE Main1.srcIP = Main2.destIP;
