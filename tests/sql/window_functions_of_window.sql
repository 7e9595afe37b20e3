-- Over the rows of the last minutes, by time: what was before and what came next.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT item, price, lead(price) OVER (PARTITION BY item ORDER BY time) AS next,
  max(price) OVER (PARTITION BY item ORDER BY time ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS highest
FROM bids [RANGE 20 MINUTES]
