-- Aggregates of DECIMALs over the row before and this one.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT time, item, p,
       sum(p) OVER (PARTITION BY item ROWS 1 PRECEDING) AS total,
       max(p) OVER (PARTITION BY item ROWS 1 PRECEDING) AS most,
       avg(p) OVER (PARTITION BY item ROWS 1 PRECEDING) AS mean
FROM (SELECT time, item, CAST(price / 4 AS DECIMAL(6,1)) AS p FROM bids)
