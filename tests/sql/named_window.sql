-- Windows with names: one as it is, one that another one goes on from.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT item, price, sum(price) OVER recent AS total, count(*) OVER (of_item RANGE 1 MINUTE PRECEDING) AS n, max(price) OVER recent
FROM bids
WHERE price > 1
WINDOW of_item AS (PARTITION BY item), recent AS (of_item ROWS 1 PRECEDING)
