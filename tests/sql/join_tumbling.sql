-- Thesis Q5-7: packets to the same host within the same minute, each pair once. The late packet is in no pair.
CREATE STREAM Main (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP,
                    WATERMARK FOR ts AS ts - INTERVAL 15 SECONDS)
  SOURCE 'file://inputs/main.csv';

SELECT a.srcIP, b.srcIP AS other, a.len + b.len AS bytes
FROM Main a, Main b [RANGE TUMBLING 1 MINUTE]
WHERE a.destIP = b.destIP AND a.ts < b.ts
