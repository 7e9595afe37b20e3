-- Compute the total size of the packets from a network traffic link, Main, for each source IP; update the results every second.
CREATE STREAM Main (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts
  SOURCE 'file://inputs/seconds.csv' WITH (slack = '3 rows');

SELECT srcIP, sum(len)
      [RANGE 1 second, SLIDE 1 second, WA ts]
FROM Main
GROUP-BY srcIP
