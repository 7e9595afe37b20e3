-- So do windows of rows over it, and over a SELECT in FROM.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT min(price) AS least, max(price) AS most FROM (SELECT item, price FROM bids WHERE price < 11 OR price > 90) [ROWS 2 SLIDE 2]
