-- A chain of a table gone through by WITH RECURSIVE, beside a stream that comes in disorder; UNION leaves out what was there.
CREATE TABLE parts (whole STRING, part STRING);
INSERT INTO parts VALUES ('sofa', 'leg'), ('leg', 'foot'), ('lamp', 'bulb'), ('lamp', 'foot'), ('foot', 'foot');
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

WITH RECURSIVE inside (whole, part, depth) AS (
  SELECT whole, part, 1 FROM parts
  UNION SELECT i.whole, p.part, depth + 1 FROM inside i JOIN parts p ON p.whole = i.part WHERE depth < 3)
SELECT b.item, b.bidder, i.part, i.depth FROM bids b JOIN inside i ON i.whole = b.item WHERE price > 12
