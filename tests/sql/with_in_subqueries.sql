-- WITH in a subquery in FROM and behind IN: its names are known there only, and hide those of the outer WITH.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

WITH dear (who, what) AS (SELECT bidder, item FROM bids WHERE price > 10)
SELECT d.who, d.what, e.price
FROM dear [RANGE 5 MINUTES] d
JOIN (WITH dear AS (SELECT item, price FROM bids WHERE price < 5) SELECT * FROM dear) [RANGE 5 MINUTES] e ON d.what <> e.item
