-- An aggregate without SLIDE is a relation; what is shown is its state at the last input time.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT item, count(*) AS n, max(price) AS highest FROM bids [RANGE 15 MINUTES] GROUP BY item
