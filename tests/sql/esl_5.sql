-- ESL example 5: a built-in aggregate over an unbounded window, its column called like another.
-- The declaration is example 1's, but for a ; in the middle of it and the port in its SOURCE.
CREATE STREAM OpenAuction (itemID int,
    sellerID char(10), price real, start_time timestamp)
    ORDER BY start_time /* external timestamps */
    SOURCE 'file://inputs/open_auctions.csv';

SELECT itemID, sellerID, price, min(price) OVER (PARTITION BY
SellerID RANGE UNBOUNDED PRECEDING)
AS Price FROM OpenAuction
