-- ESL example 9: the same for each group.
CREATE STREAM OpenAuction (itemID int,
    sellerID char(10), price real, start_time timestamp)
    ORDER BY start_time /* external timestamps */
    SOURCE 'file://inputs/open_auctions.csv';
CREATE AGGREGATE decay_online_avg(Next Real) : Real
{
TABLE state(tsum Real, cnt Int);
INITIALIZE : {
INSERT INTO state VALUES (Next, 1);
INSERT INTO RETURN VALUES (Next); }
ITERATE: {
UPDATE state SET tsum= 0.9*tsum + 1.1*Next, cnt=cnt+1;
INSERT INTO RETURN SELECT tsum/cnt FROM state; }
};

CREATE STREAM AskdPrice AS
  SELECT sellerID, decay_online_avg(price) AS avg_price
  FROM OpenAuction GROUP BY sellerID;

SELECT * FROM AskdPrice
