-- A SELECT in FROM counts its rows in the order of their times, as a derived stream does.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT item, price, row_num FROM (SELECT item, price FROM bids WHERE price < 11 OR price > 90) AS dear WHERE price > 4
