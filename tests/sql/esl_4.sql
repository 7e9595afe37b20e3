-- ESL examples 4 and 8: an aggregate without TERMINATE on a bare stream.
-- Declarations are example 1's, but for a ; in the middle of each and the port in its SOURCE.
CREATE STREAM ClosedAuction(itemID int,
    buyerID char(10), price real, current_time timestamp)
    ORDER BY current_time /* internal timestamp */
    SOURCE 'file://inputs/closed_auctions.csv';
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

SELECT decay_online_avg(price) FROM ClosedAuction
