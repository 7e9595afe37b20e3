-- The last extent is the first whose end reaches the last of the eight rows; none shrinks behind it.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT count(*) AS n, min(price) AS least FROM bids [ROWS 5 SLIDE 3]
