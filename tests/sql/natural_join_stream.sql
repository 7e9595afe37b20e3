-- Bids, not in the order of their times, with what is known of their item, or with nothing.
CREATE TABLE items (item STRING, weight INT);
INSERT INTO items VALUES ('lamp', 3), ('sofa', 80), ('desk', 40);
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT * FROM bids NATURAL LEFT JOIN items WHERE price > 5
