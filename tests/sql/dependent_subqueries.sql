-- Of each bid: how many are known to be lighter than its price, the best of the rest, and the one price there is for a sofa.
CREATE TABLE items (item STRING, weight INT);
INSERT INTO items VALUES ('lamp', 3), ('sofa', 80), ('vase', 9);
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT item, bidder, price,
       (SELECT count(*) FROM items WHERE weight < price) AS lighter,
       (SELECT i.item FROM items i WHERE i.item <> b.item ORDER BY weight DESC LIMIT 1) AS heaviest_other,
       (SELECT weight FROM items i WHERE i.item = b.item) AS weight
FROM bids [RANGE 1 MINUTE] b
WHERE price > 3 + (SELECT min(c) FROM (SELECT count(*) AS c FROM items WHERE weight < price) x)
