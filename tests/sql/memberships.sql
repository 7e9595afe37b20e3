-- IN and EXISTS under OR, in CASE and in the select list, of each bid in its five minutes, not in the order of their times.
CREATE TABLE items (item STRING, weight INT);
INSERT INTO items VALUES ('lamp', 3), ('sofa', 80), (NULL, 40);
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT item, bidder, item IN (SELECT item FROM items) AS known,
       CASE WHEN EXISTS (SELECT * FROM items i WHERE i.item = b.item AND weight > 50) THEN 'heavy' ELSE 'light' END AS kind
FROM bids b WHERE price > 11 OR item = ANY (SELECT item FROM items WHERE weight < 10) OR (item, bidder) IN (('vase', 'cyd'))
