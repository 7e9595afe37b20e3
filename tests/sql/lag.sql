-- Each bid with the item's bid before it in time, and the one two before; the sofa's row comes after a later one, and is in its place.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT time, item, price, price - lag(price) OVER (PARTITION BY item) AS step, lag(price, 2, 0) OVER (PARTITION BY item ORDER BY time) AS two_before,
       lag(bidder, 1, 'nobody') OVER () AS before
FROM bids
