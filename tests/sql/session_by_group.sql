-- A session per sensor. Sessions have no number.
CREATE STREAM readings (sensor STRING, room INT, value DOUBLE, ts TIMESTAMP)
  ORDER BY ts SOURCE 'file://inputs/readings.jsonl';

SELECT sensor, count(*) AS n, window_id FROM readings [SESSION 8 SECONDS] GROUP BY sensor HAVING n > 1
