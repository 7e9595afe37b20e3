-- CQL writes its operators around SELECTs: what entered the one relation, and what left the other.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

Istream(SELECT item, count(*) AS n FROM bids [RANGE 5 MINUTES] GROUP BY item)
UNION ALL
SELECT x.item, x.price FROM Dstream(SELECT item, price FROM bids [RANGE 1 MINUTE] WHERE price > 11) x
