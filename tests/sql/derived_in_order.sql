-- A stream put in order: rows come by their times, and are numbered so.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';
CREATE STREAM tidy ORDER BY time AS SELECT item, time FROM bids WHERE price > 10.5;

SELECT item, time, row_num FROM tidy
