-- Each bid with the newest one of its item below 12 up to its time; rows come in disorder.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT a.item, a.bidder, a.price, b.bidder AS before, b.price AS price_before
FROM bids a ASOF LEFT JOIN (SELECT * FROM bids WHERE price < 12) b ON a.item = b.item AND a.time >= b.time
