-- ESL example 16: max under ACTIVE EXPIRATION: what EXPIRE returns, for the rows that were not deleted.
CREATE STREAM OpenAuction (itemID int,
    sellerID char(10), price real, start_time timestamp)
    ORDER BY start_time /* external timestamps */
    SOURCE 'file://inputs/open_auctions.csv';
CREATE ALGEBRAIC WINDOW AGGREGATE
  max (Next Real): Real
{ TABLE inwindow(wnext real);
  INITIALIZE : {
    INSERT INTO RETURN VALUES (Next);
  } /* new tuples added to inwindow automatically */
  ITERATE : {
    DELETE FROM inwindow WHERE wnext ≤ Next;
  }
  EXPIRE: { /*expired tuples removed automatically*/
    INSERT INTO RETURN VALUES (oldest()) }
};

SELECT itemID, max(price) OVER (RANGE 2 SECONDS PRECEDING ACTIVE EXPIRATION) AS was FROM OpenAuction
