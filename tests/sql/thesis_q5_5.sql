-- Find the maximum packet length of packets for the past 5 minutes; update the result every tuple.
CREATE STREAM Main (srcIP STRING, length INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/lengths.csv';

SELECT max(length)
      [RANGE 5 minutes, RATTR ts, SLIDE 1 row, SATTR row-num]
FROM Main
