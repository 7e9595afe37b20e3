-- RSTREAM is about the answer after ORDER BY and LIMIT: the two highest bids of the last ten minutes.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT RSTREAM bidder, price FROM bids [RANGE 10 MINUTES] WHERE item = 'lamp' ORDER BY price DESC LIMIT 2
