-- The order of a list means nothing: the window behind it is the stream's, and both tables are looked up as its rows come.
CREATE TABLE names (bidder STRING, name STRING);
INSERT INTO names VALUES ('ada', 'Ada L.'), ('bob', 'Bob M.'), ('cyd', 'Cyd C.');
CREATE TABLE kinds (item STRING, kind STRING);
INSERT INTO kinds VALUES ('lamp', 'light'), ('vase', 'glass');
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT n.name, k.kind, count(*) AS bids
FROM names n, kinds k, bids b [RANGE 10 MINUTES TUMBLING]
WHERE n.bidder = b.bidder AND k.item = b.item
GROUP BY n.name, k.kind
