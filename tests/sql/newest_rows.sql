-- CQL's second query: of the newest two packets each source sent to one host, how many were long. No packet is late for it.
CREATE STREAM Main (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP,
                    WATERMARK FOR ts AS ts - INTERVAL 15 SECONDS)
  SOURCE 'file://inputs/main.csv';

SELECT count(*) AS long, sum(len) AS bytes
FROM Main [PARTITION BY srcIP ROWS 2 WHERE destIP = '10.0.9.9']
WHERE len >= 100
