-- The same where answers leave again: its state is that at the last extent's time, 12:24:59.999999.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT sum(n) AS bids, count(*) AS extents FROM (SELECT item, count(*) AS n FROM bids [RANGE 5 MINUTES TUMBLING] GROUP BY item) [RANGE 20 MINUTES]
