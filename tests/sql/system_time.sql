-- Temporal joins as Flink writes them: a table at each row's time, and the newest row of each key of a stream.
CREATE TABLE items (item STRING, weight INT, tags STRING);
INSERT INTO items VALUES ('lamp', 3, 'light,old'), ('sofa', 80, 'soft'), (NULL, 40, ''), ('lamp', 8, 'new');
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT b.item, b.bidder, i.weight, p.bidder AS newest
FROM bids AS b
LEFT JOIN (SELECT item, max(weight) AS weight FROM items GROUP BY item) FOR SYSTEM_TIME AS OF b.time AS i ON i.item = b.item
JOIN (SELECT * FROM bids WHERE price < 12) FOR SYSTEM_TIME AS OF b.time AS p ON p.item = b.item
