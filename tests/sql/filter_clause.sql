-- FILTER leaves groups alone: a group without a matching row has count 0 and NULLs.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT item,
       count(*) FILTER (WHERE bidder = 'ada') AS by_ada,
       max(price) FILTER (WHERE bidder = 'ada') AS adas,
       count(DISTINCT bidder) FILTER (WHERE price > 3) AS bidders
FROM bids [RANGE 10 MINUTES TUMBLING]
GROUP BY item
