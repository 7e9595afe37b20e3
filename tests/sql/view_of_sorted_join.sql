-- A view is what is there, so the rows of a join can be sorted in it.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

CREATE VIEW higher AS
SELECT a.item, a.price, b.price AS more
FROM bids [RANGE 1 HOUR] a JOIN bids [RANGE 1 HOUR] b ON a.item = b.item AND b.price > a.price
ORDER BY more DESC, a.price
