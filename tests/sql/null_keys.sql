-- NULL is a group of its own, apart from the empty string; times before 1970; NULL values.
CREATE STREAM readings (sensor STRING, room INT, value DOUBLE, ts TIMESTAMP)
  ORDER BY ts SOURCE 'file://inputs/readings.jsonl';

SELECT sensor, room, count(*) AS n, count(value) AS known, sum(value) AS total, avg(value) AS mean
FROM readings [RANGE 10 SECONDS TUMBLING]
GROUP BY sensor, room
