-- Count the number of the packets from three network traffic links, Main1, Main2 and Control, in the past 10 seconds for each
-- source IP, and update the results every second.
CREATE STREAM Main1 (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/main1.csv';
CREATE STREAM Main2 (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/main2.csv';
CREATE STREAM Control (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/control.csv';

SELECT count(*)
      [RANGE 10 sec, SLIDE 1 sec, WA ts]
FROM (Main2  ∪  (Main1  ∪  Control))
GROUP-BY srcIP
