-- Each extent by item and bidder, by item, and whole. Bids aren't in the order of their times.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT window_end, item, bidder, max(price) AS most, grouping(item, bidder) AS g
FROM bids [RANGE 10 MINUTES TUMBLING]
GROUP BY ROLLUP (item, bidder) HAVING count(*) > 1
