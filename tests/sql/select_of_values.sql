-- SELECTs without FROM have one row: as a table's rows, as a list to look in, as parts of a union.
CREATE TABLE kinds (item STRING, kind STRING);
INSERT INTO kinds SELECT 'lamp', upper('light');
INSERT INTO kinds SELECT 'vase', 'GLASS' UNION ALL SELECT 'sofa', 'SEAT' WHERE false;
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

WITH least AS (SELECT 4 AS price)
SELECT b.item, k.kind, b.price
FROM bids b JOIN kinds k ON b.item = k.item JOIN least ON b.price >= least.price
WHERE b.bidder IN (SELECT 'ada' UNION SELECT 'cyd')
