-- A slide beyond the range leaves gaps.
CREATE STREAM readings (sensor STRING, room INT, value DOUBLE, ts TIMESTAMP)
  ORDER BY ts SOURCE 'file://inputs/readings.jsonl';

SELECT count(*) AS n, sum(value) AS total FROM readings [RANGE 2 SECONDS SLIDE 5 SECONDS]
