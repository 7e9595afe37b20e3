-- Machines report when they have sent all up to a time; a machine's answers don't wait for the others. A late row is late by its own.
CREATE STREAM readings (machine STRING, value DOUBLE, time TIMESTAMP, upto TIMESTAMP) ORDER BY time
  SOURCE 'file://inputs/readings.csv' WITH (punctuation = 'upto', punctuation_key = 'machine');

SELECT machine AS m, avg(value) AS mean, count(*) AS n FROM readings [RANGE 10 MINUTES TUMBLING] GROUP BY machine
