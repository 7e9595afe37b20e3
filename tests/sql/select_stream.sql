-- No aggregate: a stream of rows that pass, as they come.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT item, price * 0.5 AS half, time, row_num FROM bids WHERE item IN ('vase', 'sofa') AND NOT bidder LIKE 'b%'
