-- Counts per item and ten minutes, and of these the highest of each extent: the inner rows progress on window_end - 1 us.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT max(n) AS most, count(*) AS items
FROM (SELECT item, count(*) AS n FROM bids [RANGE 10 MINUTES SLIDE 5 MINUTES] GROUP BY item) AS per_item
     [RANGE 5 MINUTES TUMBLING]
