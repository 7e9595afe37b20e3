-- Groups that HAVING drops are no rows; extents without any are not there at all.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT item, count(*) AS n, max(price) AS highest
FROM bids [RANGE 5 MINUTES TUMBLING]
GROUP BY item
HAVING count(*) > 1 OR max(price) > 50
