-- Each packet with its share of what its source sent in the minute up to it, and its place; the late packet is listed, not used.
CREATE STREAM Main (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP,
                    WATERMARK FOR ts AS ts - INTERVAL 15 SECONDS)
  SOURCE 'file://inputs/main.csv';

SELECT ts, srcIP, len / sum(len) OVER (PARTITION BY srcIP RANGE 1 MINUTE PRECEDING) AS share,
       count(*) OVER (RANGE UNBOUNDED PRECEDING) AS so_far
FROM Main
