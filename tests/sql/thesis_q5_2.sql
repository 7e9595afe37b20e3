-- For each source IP, find the maximum packet length of the past 1000 packets from the source IP; update the results for
-- every 10 packets from the source IP.
-- The few rows reach no tenth: the first extent holds them all, and closes when the input ends.
CREATE STREAM Main (srcIP STRING, length INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/lengths.csv';

SELECT srcIP, max(length)
      [RANGE 1000 rows, SLIDE 10 rows, WA row-num, PA srcIP]
FROM   Main
