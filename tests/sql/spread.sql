-- Variances of one row: NULL for a sample, 0 for a population. first and last keep NULLs.
CREATE STREAM readings (sensor STRING, room INT, value DOUBLE, ts TIMESTAMP)
  ORDER BY ts SOURCE 'file://inputs/readings.jsonl';

SELECT var_samp(value) AS vs, var_pop(value) AS vp, stddev_samp(value) AS ss, stddev_pop(value) AS sp,
       first(value) AS first_value, last(value) AS last_value, min(sensor) AS least, max(sensor) AS greatest
FROM readings [RANGE 10 SECONDS TUMBLING]
