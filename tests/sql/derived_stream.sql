-- A derived stream is a name for a query; windows on it are on the stream's time even where that is not selected.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';
CREATE STREAM cheap AS SELECT item AS thing, price FROM bids WHERE price < 12;

SELECT thing, sum(price) AS total FROM cheap [RANGE 10 MINUTES TUMBLING] GROUP BY thing
