-- Flink's sessions of a key, arguments with their names.
CREATE STREAM readings (sensor STRING, room INT, value DOUBLE, ts TIMESTAMP)
  ORDER BY ts SOURCE 'file://inputs/readings.jsonl';

SELECT window_start, window_end, room, count(*) AS n
FROM TABLE(SESSION(DATA => TABLE readings PARTITION BY room, TIMECOL => DESCRIPTOR(ts), GAP => INTERVAL '6' SECOND))
GROUP BY window_start, window_end, room
