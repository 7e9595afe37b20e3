CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT * FROM bids MATCH_RECOGNIZE (
  PARTITION BY item ORDER BY time MEASURES last(price) AS p PATTERN (a up+) DEFINE upp AS price > PREV(price))
