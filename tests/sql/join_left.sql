-- Each packet with the packets its source sent in the 30 seconds after it, or with none.
CREATE STREAM Main (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP,
                    WATERMARK FOR ts AS ts - INTERVAL 15 SECONDS)
  SOURCE 'file://inputs/main.csv';

SELECT a.ts, a.srcIP, b.len
FROM Main a LEFT JOIN Main b ON a.srcIP = b.srcIP AND b.ts > a.ts AND b.ts <= a.ts + INTERVAL 30 SECONDS
