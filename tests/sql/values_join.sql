-- A stream looks up rows that are written out.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT time, item, weight FROM bids JOIN (VALUES ('lamp', 3), ('sofa', 80), ('desk', NULL)) AS w (item, weight) USING (item)
