-- Over a stream without a window: a live relation, which holds the groups of all rows.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT item, price > 5 AS dear, count(*) AS n FROM bids GROUP BY GROUPING SETS (item, dear, (item, dear))
