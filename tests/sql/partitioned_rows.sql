-- Each sensor's own row numbers, counted after the filter; NULL is a sensor, too.
CREATE STREAM readings (sensor STRING, room INT, value DOUBLE, ts TIMESTAMP)
  ORDER BY ts SOURCE 'file://inputs/readings.jsonl';

SELECT sensor, count(*) AS n, sum(value) AS total FROM readings [PARTITION BY sensor ROWS 2 SLIDE 1 WHERE room = 1]
