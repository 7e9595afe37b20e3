-- Spark's window(): extents start at multiples of the slide.
CREATE STREAM readings (sensor STRING, room INT, value DOUBLE, ts TIMESTAMP)
  ORDER BY ts SOURCE 'file://inputs/readings.jsonl';

SELECT room, count(*) AS n FROM readings GROUP BY window(ts, '5 seconds', '3 seconds'), room
