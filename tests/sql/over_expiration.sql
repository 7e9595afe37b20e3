-- What each source went on to send in the minute after a packet, told when the packet leaves the window.
CREATE STREAM Main (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP,
                    WATERMARK FOR ts AS ts - INTERVAL 15 SECONDS)
  SOURCE 'file://inputs/main.csv';

SELECT ts, srcIP, sum(len) OVER (PARTITION BY srcIP RANGE 1 MINUTE PRECEDING ACTIVE EXPIRATION) AS bytes
FROM Main
