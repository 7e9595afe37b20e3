-- Computes the total size of the packets in the past 10 seconds for each source IP and update the results every second.
CREATE STREAM packets (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts
  SOURCE 'file://inputs/seconds.csv' WITH (slack = '3 rows');

SELECT srcIP, sum(len)
      [RANGE 10 seconds, SLIDE 1 second, WA ts]
FROM packets
GROUPBY srcIP
