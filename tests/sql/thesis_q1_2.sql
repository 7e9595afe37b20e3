-- Count the number of packets from three links, Control, Main1 and Main2, for every minute; update the result every minute.
CREATE STREAM Main1 (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/main1.csv';
CREATE STREAM Main2 (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/main2.csv';
CREATE STREAM Control (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/control.csv';

SELECT count (*) [RANGE 1 minute, SLIDE 1 minute, WA ts]  
FROM Control union Main1 union Main2
