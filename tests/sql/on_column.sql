-- A window on another column than the stream's own time: nothing is known of its progress, so all is final at the end.
CREATE STREAM flights (carrier STRING, delay INT, scheduled TIMESTAMP, departed TIMESTAMP)
  ORDER BY departed SOURCE 'file://inputs/flights.csv';

SELECT count(*) AS flights, max(delay) AS worst FROM flights [RANGE 1 HOUR TUMBLING ON scheduled]
