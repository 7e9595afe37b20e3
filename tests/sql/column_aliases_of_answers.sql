-- What stands in front of answers unasked, window_start and window_end, keeps its name.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT thing, window_start, n FROM (SELECT item, count(*) FROM bids [RANGE 10 MINUTES TUMBLING] GROUP BY item) AS q (thing, n)
