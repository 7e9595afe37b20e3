-- Flink's TUMBLE.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT count(*) AS n FROM TUMBLE(bids, time, INTERVAL '10' MINUTE)
