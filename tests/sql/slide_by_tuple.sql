-- An extent for every second packet in order of arrival, each with the groups in it; late packets are listed, not used.
CREATE STREAM Main (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP,
                    WATERMARK FOR ts AS ts - INTERVAL 15 SECONDS)
  SOURCE 'file://inputs/main.csv';

SELECT window_id, srcIP, count(*) AS n, sum(len) AS bytes
FROM Main [RANGE 1 MINUTE SLIDE 2 ROWS]
GROUP BY srcIP
