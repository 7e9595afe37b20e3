-- Packet pairs from the union of A with B and the union of C with D that are in corresponding NetFlows, for each 10 second interval.
CREATE STREAM A (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/link_m1.csv';
CREATE STREAM B (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/link_c.csv';
CREATE STREAM C (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 1 MINUTE) SOURCE 'file://inputs/link_m2.csv';
CREATE STREAM D (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/link_d.csv';

SELECT    M1.srcIP, M1.destIP, M1.ts
FROM      A UNION B as M1, C UNION D as M2
[RANGE TUMBLING 10 seconds, WA ts],
WHERE    M1.srcIP = M2.destIP and M1.destIP = M2.srcIP and
M1.srcPort = M2.destPort and M1.destPort = M2.srcPort
