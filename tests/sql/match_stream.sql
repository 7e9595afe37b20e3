-- Rising prices of an item within ten minutes; rows come in disorder.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT * FROM bids MATCH_RECOGNIZE (
  PARTITION BY item ORDER BY time
  MEASURES first(price) AS low, FINAL LAST(up.price) AS high, count(up.*) AS rises, MATCH_NUMBER() AS number
  ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
  PATTERN (begins up{1,3}) WITHIN INTERVAL '10' MINUTES
  DEFINE up AS price > PREV(price)) AS m
