-- A SELECT with OVER in FROM counts its rows in the order of their times: those it gives, not the source's.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT item, price, n, row_num
FROM (SELECT item, price, count(*) OVER (PARTITION BY item RANGE 10 MINUTES PRECEDING) AS n FROM bids WHERE price < 11 OR price > 90) AS dear
WHERE n < 3
