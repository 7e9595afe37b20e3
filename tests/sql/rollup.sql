-- Five-minute extents add up to whole half hours.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';
CREATE STREAM small AS SELECT item, count(*) AS n FROM bids [RANGE 5 MINUTES TUMBLING] GROUP BY item;

SELECT item, sum(n) AS n FROM small [RANGE 30 MINUTES TUMBLING] GROUP BY item
