-- Two aggregates of a stream joined on all that they have in common: their extents and the item.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT * FROM
  (SELECT item, count(*) AS n FROM bids [RANGE 10 MINUTES TUMBLING] GROUP BY item) a
  NATURAL JOIN (SELECT item, max(price) AS most FROM bids [RANGE 10 MINUTES TUMBLING] WHERE bidder <> 'bob' GROUP BY item) b
