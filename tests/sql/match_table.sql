-- The same of a table, with all rows; one of two patterns.
CREATE TABLE bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP) SOURCE 'file://inputs/bids.csv';

SELECT item, time, what, total FROM bids MATCH_RECOGNIZE (
  PARTITION BY item ORDER BY time
  MEASURES CLASSIFIER() AS what, sum(price) AS total
  ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW
  PATTERN (a (up+ | same)) SUBSET u = (a, up)
  DEFINE up AS price > LAST(u.price, 1) AND count(u.*) <= 3, same AS bidder = a.bidder) AS m
