-- A relation over extents is over when the last of these is: all eight bids are counted.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT sum(n) AS bids FROM (SELECT count(*) AS n FROM bids [RANGE 5 MINUTES TUMBLING])
