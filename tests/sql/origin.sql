-- ORIGIN moves the multiples of the slide.
CREATE STREAM readings (sensor STRING, room INT, value DOUBLE, ts TIMESTAMP)
  ORDER BY ts SOURCE 'file://inputs/readings.jsonl';

SELECT count(*) AS n FROM readings [RANGE 10 SECONDS SLIDE 4 SECONDS ORIGIN TIMESTAMP '2024-02-29 00:00:03']
