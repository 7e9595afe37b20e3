-- The same with TABLE and DESCRIPTOR.
CREATE STREAM readings (sensor STRING, room INT, value DOUBLE, ts TIMESTAMP)
  ORDER BY ts SOURCE 'file://inputs/readings.jsonl';

SELECT count(*) AS n, sum(value) AS total
FROM TABLE(HOP(TABLE readings, DESCRIPTOR(ts), INTERVAL '3' SECOND, INTERVAL '5' SECOND))
