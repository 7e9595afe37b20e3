-- Names for the columns of a stream, of a subquery and of a WITH; columns without one keep their own.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

WITH high (thing, who) AS (SELECT item, bidder, price, time FROM bids WHERE price > 10)
SELECT a.thing, a.price, b.cost, b.at
FROM high [RANGE 4 MINUTES] a JOIN bids [RANGE 4 MINUTES] AS b (thing, who, cost, at) ON a.thing = b.thing AND b.cost > a.price
