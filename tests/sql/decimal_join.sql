-- A join on DECIMALs of different digits: equal by value.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT a.item, b.bidder, a.p, b.q
FROM (SELECT item, CAST(price AS DECIMAL(4,0)) AS p, time FROM bids) [RANGE 10 MINUTES] a
JOIN (SELECT bidder, CAST(price AS DECIMAL(6,2)) AS q, time FROM bids) [RANGE 10 MINUTES] b
ON a.p = b.q
