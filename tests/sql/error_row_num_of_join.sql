CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT item,
       row_num
FROM (SELECT a.item, b.bidder FROM bids [RANGE 1 MINUTE] a JOIN bids [RANGE 1 MINUTE] b ON a.price = b.price)
