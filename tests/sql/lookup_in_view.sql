-- The same in a condition on a view.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

CREATE VIEW sought AS SELECT item, count(*) AS n FROM bids [RANGE 5 MINUTES] GROUP BY item;

SELECT bidder, price FROM bids [NOW] WHERE item IN (SELECT item FROM sought WHERE n > 1)
