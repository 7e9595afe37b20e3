-- A view whose SELECT begins with WITH.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

CREATE VIEW totals AS
WITH dear AS (SELECT * FROM bids WHERE price > 4), counted (item, n) AS (SELECT item, count(*) FROM dear GROUP BY item)
SELECT item, n FROM counted WHERE n > 1
