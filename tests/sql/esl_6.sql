-- ESL example 6: a union of streams with times of different kinds.
-- Declarations are example 1's, but for a ; in the middle of each and the port in its SOURCE.
CREATE STREAM OpenAuction (itemID int,
    sellerID char(10), price real, start_time timestamp)
    ORDER BY start_time /* external timestamps */
    SOURCE 'file://inputs/open_auctions.csv';
CREATE STREAM ClosedAuction(itemID int,
    buyerID char(10), price real, current_time timestamp)
    ORDER BY current_time /* internal timestamp */
    SOURCE 'file://inputs/closed_auctions.csv';

CREATE STREAM PriceRise(itemID, price, Time) AS
SELECT itemID, price, start_time FROM OpenAuction
UNION ALL
SELECT itemID, price, current_time FROM ClosedAuction;

SELECT itemID, price FROM PriceRise
