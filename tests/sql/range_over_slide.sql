-- A range that is no multiple of the slide: extents end at multiples of the slide.
CREATE STREAM readings (sensor STRING, room INT, value DOUBLE, ts TIMESTAMP)
  ORDER BY ts SOURCE 'file://inputs/readings.jsonl';

SELECT count(*) AS n, sum(value) AS total FROM readings [RANGE 5 SECONDS SLIDE 3 SECONDS]
