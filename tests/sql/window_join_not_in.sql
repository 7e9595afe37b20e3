-- Flink's anti join of windows, and in it a semi join: who opened no auction in ten seconds in which somebody bid more than 20.
CREATE STREAM person (id BIGINT, name STRING, dateTime TIMESTAMP, WATERMARK FOR dateTime AS dateTime)
  SOURCE 'file://inputs/nexmark_persons.csv';
CREATE STREAM auction (id BIGINT, seller BIGINT, dateTime TIMESTAMP, WATERMARK FOR dateTime AS dateTime)
  SOURCE 'file://inputs/nexmark_auctions.csv';
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP, WATERMARK FOR dateTime AS dateTime)
  SOURCE 'file://inputs/nexmark_bids.csv';

SELECT L.id, L.window_end
FROM (SELECT * FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(dateTime), INTERVAL '10' SECONDS))) L
WHERE L.id NOT IN (
  SELECT seller FROM (SELECT * FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(dateTime), INTERVAL '10' SECONDS))) R
  WHERE L.window_start = R.window_start AND L.window_end = R.window_end)
AND EXISTS (
  SELECT * FROM (SELECT max(price) AS top FROM bid [RANGE 10 SECONDS TUMBLING]) B WHERE B.window_end = L.window_end AND B.top > 20)
