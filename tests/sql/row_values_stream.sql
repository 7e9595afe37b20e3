-- Bids that are not in the order of their times, of pairs of item and bidder.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT item, bidder, price FROM bids WHERE (item, bidder) IN (('lamp', 'ada'), ('sofa', 'dan')) AND (item, price) > ('lamp', 11)
