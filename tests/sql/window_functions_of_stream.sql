-- Over a whole disordered stream: a live relation, whose ranks are revised as rows come.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT item, bidder, price, dense_rank() OVER (PARTITION BY item ORDER BY price DESC) AS place,
  count(*) OVER (ORDER BY price GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS near
FROM bids
