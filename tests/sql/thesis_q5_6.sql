-- Count the number of packets for the past 5 minutes; update the result for every 5 tuples as defined by the ts attribute order.
CREATE STREAM Main (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP,
                    WATERMARK FOR ts AS ts - INTERVAL 30 SECONDS)
  SOURCE 'file://inputs/main.csv';

SELECT count(*)  
      [RANGE 5 minutes, RATTR ts, SLIDE 5 rows, SATTR rank(ts)]  
FROM Main
