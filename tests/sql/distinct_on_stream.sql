-- The dearest bid of each item, as it is now.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT DISTINCT ON (item) item, bidder, price FROM bids ORDER BY item, price DESC, bidder
