-- Every five minutes: the bids of the last ten, each with the higher ones on its item in the last five, or with none.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT a.item, a.bidder, b.price
FROM bids [RANGE 10 MINUTES SLIDE 5 MINUTES] a LEFT JOIN bids [RANGE 5 MINUTES] b ON a.item = b.item AND b.price > a.price
