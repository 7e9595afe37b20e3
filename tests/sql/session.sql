-- Rows exactly five seconds apart are in different sessions.
CREATE STREAM readings (sensor STRING, room INT, value DOUBLE, ts TIMESTAMP)
  ORDER BY ts SOURCE 'file://inputs/readings.jsonl';

SELECT count(*) AS n, last(value) AS newest FROM SESSION(readings, ts, INTERVAL '5' SECOND)
