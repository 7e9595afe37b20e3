-- The rows of a join under a window are counted in the order of their times.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT sum(row_num) AS numbers, max(row_num) AS last
FROM (SELECT a.item, b.bidder FROM bids [RANGE 1 MINUTE] a JOIN bids [RANGE 1 MINUTE] b ON a.price = b.price) [RANGE 10 MINUTES TUMBLING]
