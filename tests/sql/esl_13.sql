-- ESL example 13: max keeps the rows that can still be the greatest.
CREATE STREAM OpenAuction (itemID int,
    sellerID char(10), price real, start_time timestamp)
    ORDER BY start_time /* external timestamps */
    SOURCE 'file://inputs/open_auctions.csv';
CREATE WINDOW AGGREGATE max (Next Real) : Real
{
  TABLE inwindow(wnext real);
  INITIALIZE : {
    INSERT INTO RETURN VALUES (Next);
  } /* new tuples are added to inwindow automatically */
  ITERATE : {
    DELETE FROM inwindow WHERE wnext ≤ Next;
    INSERT INTO RETURN VALUES (oldest());
  }
  EXPIRE: { } /* expired tuples are removed automatically */
};

SELECT itemID, max(price) OVER (ROWS 2 PRECEDING) AS highest FROM OpenAuction
