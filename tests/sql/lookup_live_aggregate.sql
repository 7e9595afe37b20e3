-- A row of [NOW] looks a live aggregate up, once: the query is a stream of what it finds.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT x.bidder, x.price, y.n FROM bids [NOW] x JOIN (SELECT item, count(*) AS n FROM bids [RANGE 5 MINUTES] GROUP BY item) y
  ON x.item = y.item
