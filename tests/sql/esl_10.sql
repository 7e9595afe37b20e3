-- ESL example 10: the cumulative average, which is avg over an unbounded window.
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
CREATE AGGREGATE cum_avg(Next Real) : Real
{
  TABLE state(tsum Real, cnt Int);
  INITIALIZE : {
    INSERT INTO state VALUES (Next, 1);
    INSERT INTO RETURN SELECT tsum/cnt FROM state;
  }
  ITERATE : {
    UPDATE state SET tsum=tsum+Next, cnt=cnt+1;
    INSERT INTO RETURN SELECT tsum/cnt FROM state;
  }
  TERMINATE : { }
};

SELECT itemID, cum_avg(price) OVER (RANGE UNBOUNDED PRECEDING) AS cumulative,
       avg(price) OVER (RANGE UNBOUNDED PRECEDING) AS terminated
FROM OpenAuction
