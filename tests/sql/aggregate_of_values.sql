-- A body's SELECT without FROM takes the parameters.
CREATE AGGREGATE spread (Next DOUBLE) : DOUBLE
{ TABLE state (low DOUBLE, high DOUBLE);
  INITIALIZE : { INSERT INTO state SELECT Next, Next; }
  ITERATE : { UPDATE state SET low = Next WHERE Next < low; UPDATE state SET high = Next WHERE Next > high; }
  TERMINATE : { INSERT INTO RETURN SELECT high - low FROM state; } };
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT item, spread(price) AS spread FROM bids [RANGE 10 MINUTES TUMBLING] GROUP BY item
