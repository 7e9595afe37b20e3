-- SYN, SYN_ACK pairs of network connections between S0 and S1, counted for each pair of timestamps. The quotes around
-- SYN and SYN_ACK are not in print. Without a SLIDE the answer is a relation: its state in the end, and all its changes.
CREATE STREAM S0 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/link_m1.csv';
CREATE STREAM S1 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, flag STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 1 MINUTE) SOURCE 'file://inputs/link_m2.csv';

SELECT S0.ts, S1.ts, count(*)
FROM   S0 [WA ts, RANGE 2 min],
       S1 [WA ts, RANGE 2 min]
WHERE  S0.srcIP = S1.destIP and S0.destIP = S1.srcIP and
       S0.srcPort = S1.destPort and S0.destPort = S1.srcPort and
       ((S0.ts < S1.ts and S0.flag = 'SYN' and S1.flag = 'SYN_ACK') or
        (S0.ts > S1.ts and S0.flag = 'SYN_ACK' and S1.flag = 'SYN'))
GROUP BY S0.ts, S1.ts;
