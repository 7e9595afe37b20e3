-- Times before 1970 and before the origin are rounded down, too.
CREATE STREAM readings (sensor STRING, room INT, value DOUBLE, ts TIMESTAMP)
  ORDER BY ts SOURCE 'file://inputs/readings.jsonl';

SELECT time_bucket('5 seconds', ts, TIMESTAMP '2024-01-01 00:00:02') AS bucket, date_bin(INTERVAL '1' MINUTE, ts) AS minute,
  time_bucket('1 month', ts) AS month
FROM readings
