-- A right join with a table on the left keeps the stream's rows, as a left join the other way round does.
CREATE TABLE names (bidder STRING, name STRING);
INSERT INTO names VALUES ('ada', 'Ada L.');
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT b.bidder, n.name, b.price FROM names n RIGHT JOIN bids b ON n.bidder = b.bidder
