-- Flink's window join: the rows of two windows that are in the same extent, and those without a partner.
CREATE STREAM person (id BIGINT, name STRING, dateTime TIMESTAMP, WATERMARK FOR dateTime AS dateTime)
  SOURCE 'file://inputs/nexmark_persons.csv';
CREATE STREAM auction (id BIGINT, seller BIGINT, dateTime TIMESTAMP, WATERMARK FOR dateTime AS dateTime)
  SOURCE 'file://inputs/nexmark_auctions.csv';

SELECT L.id AS person, R.id AS auction,
  COALESCE(L.window_start, R.window_start) AS window_start, COALESCE(L.window_end, R.window_end) AS window_end
FROM (SELECT * FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(dateTime), INTERVAL '10' SECONDS))) L
FULL JOIN (SELECT * FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(dateTime), INTERVAL '10' SECONDS))) R
ON L.id = R.seller AND L.window_start = R.window_start AND L.window_end = R.window_end
