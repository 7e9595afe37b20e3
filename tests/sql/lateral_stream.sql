-- Of each bid, in its minute: the items of its name by LATERAL, and how many are lighter than its price.
CREATE TABLE items (item STRING, weight INT, tags STRING);
INSERT INTO items VALUES ('lamp', 3, 'light,old'), ('sofa', 80, 'soft'), (NULL, 40, ''), ('lamp', 8, 'new');
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT b.item, bidder, price, i.weight, l.lighter, twice
FROM bids [RANGE 1 MINUTE] b
LEFT JOIN LATERAL (SELECT weight FROM items WHERE items.item = b.item ORDER BY weight DESC LIMIT 1) i ON TRUE,
LATERAL (SELECT count(*) AS lighter FROM items WHERE weight < b.price) l,
LATERAL (SELECT lighter * 2 AS twice) t
