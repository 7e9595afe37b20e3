-- The fourth argument is an offset. An extent without rows has no row: the window columns are a group.
CREATE STREAM readings (sensor STRING, room INT, value DOUBLE, ts TIMESTAMP)
  ORDER BY ts SOURCE 'file://inputs/readings.jsonl';

SELECT window_start, window_end, count(*) AS n
FROM TABLE(TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '2' SECOND)) GROUP BY window_start, window_end
