-- The same extent by extent: the highest bid of each five minutes where it is another than before.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT ISTREAM item, price FROM bids [RANGE 10 MINUTES SLIDE 5 MINUTES] ORDER BY price DESC LIMIT 1
