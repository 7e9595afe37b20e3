-- ESL example 11: a window version that calls the base version.
CREATE STREAM OpenAuction (itemID int,
    sellerID char(10), price real, start_time timestamp)
    ORDER BY start_time /* external timestamps */
    SOURCE 'file://inputs/open_auctions.csv';
CREATE AGGREGATE avg(Next Real) : Real
{
TABLE state(tsum Real, cnt Int);
INITIALIZE : { INSERT INTO state VALUES (Next, 1); }
ITERATE : { UPDATE state SET tsum=tsum+Next, cnt=cnt+1; }
TERMINATE : { INSERT INTO RETURN
SELECT tsum/cnt FROM state; }
};
CREATE WINDOW AGGREGATE avg(Next Real) : Real
{
  TABLE inwindow(wnext Real);
  INITIALIZE: ITERATE: {
    INSERT INTO RETURN
      SELECT avg(wnext) FROM inwindow;
  }
};

SELECT itemID, avg(price) OVER (PARTITION BY sellerID ROWS 1 PRECEDING) AS two,
       avg(price) OVER (RANGE 2 SECONDS PRECEDING) AS near
FROM OpenAuction
