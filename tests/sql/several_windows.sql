-- Each aggregate has its own window; the longest says which extents there are.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT item, max(price) [RANGE 5 MINUTES TUMBLING] AS lately, count(*) [RANGE 10 MINUTES SLIDE 5 MINUTES] AS n,
  count(price) [RANGE 5 MINUTES TUMBLING] AS recent
FROM bids WHERE item <> 'sofa' GROUP BY item
