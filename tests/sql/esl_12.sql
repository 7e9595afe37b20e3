-- ESL example 12: delta maintenance with EXPIRE.
CREATE STREAM Bid(itemID int,
    price real, bidderID char(10), bid_time timestamp)
    ORDER BY bid_time
    SOURCE 'file://inputs/auction_bids.csv';
CREATE WINDOW AGGREGATE myavg(Next Real) : Real
{
  TABLE state(tsum Int, cnt Real);
  TABLE inwindow(wnext Real);
  INITIALIZE : {
    INSERT INTO state VALUES (Next, 1);
    INSERT INTO RETURN VALUES (Next);
  }
  ITERATE : {
    UPDATE state SET tsum=tsum+Next, cnt=cnt+1;
    INSERT INTO RETURN SELECT tsum/cnt FROM state;
  }
  EXPIRE: { /* when there are expired tuples take the oldest */
    UPDATE state SET cnt= cnt-1, tsum = tsum - oldest().wnext;
  }
};

SELECT bid_time, myavg(price) OVER (RANGE 4 SECONDS PRECEDING SLIDE 5) AS near FROM Bid
