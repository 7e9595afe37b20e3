-- ESL example 7: the user's own avg, over windows and recomputed for each.
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

SELECT sellerID, avg(price) AS price, count(*) AS items
FROM OpenAuction [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY sellerID
