-- For the past 1000 packets, find the maximum packet length from each source IP; update the result every 10 packets.
-- The few rows reach no tenth: the first extent holds them all, and closes when the input ends.
CREATE STREAM Main (srcIP STRING, length INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/lengths.csv';

SELECT srcIP, max(length)
      [RANGE 1000 rows, SLIDE 10 rows, WA row-num]
FROM   Main
GROUP-BY srcIP
