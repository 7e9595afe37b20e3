-- A stream put in order, with ORDER BY where SQL has it: behind the SELECT.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';
CREATE STREAM tidy AS SELECT item, time FROM bids WHERE price > 10.5 ORDER BY time;

SELECT item, time, row_num FROM tidy
