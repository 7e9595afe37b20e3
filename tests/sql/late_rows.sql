-- Sliding extents, rows up to an hour late expected: a later one is used where it still can be and listed for what it missed.
CREATE STREAM flights (carrier STRING, delay INT, scheduled TIMESTAMP, departed TIMESTAMP,
                       WATERMARK FOR scheduled AS scheduled - INTERVAL 1 HOUR)
  SOURCE 'file://inputs/flights.csv';

SELECT carrier, count(*) AS flights, avg(delay) AS mean_delay
FROM flights [RANGE 2 HOURS SLIDE 1 HOUR]
GROUP BY carrier
