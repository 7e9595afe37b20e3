-- A derived stream counts its rows in the order of their times: sofa of 12:06 comes before vase of 12:07:30, though it came later.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';
CREATE STREAM dear AS SELECT item, price FROM bids WHERE price < 11 OR price > 90;

SELECT item, price, row_num FROM dear
