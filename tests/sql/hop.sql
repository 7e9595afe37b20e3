-- Flink's HOP (slide, then size): extents start at multiples of the slide.
CREATE STREAM readings (sensor STRING, room INT, value DOUBLE, ts TIMESTAMP)
  ORDER BY ts SOURCE 'file://inputs/readings.jsonl';

SELECT count(*) AS n, sum(value) AS total FROM HOP(readings, ts, INTERVAL '3' SECOND, INTERVAL '5' SECOND)
