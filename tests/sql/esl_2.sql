-- ESL example 2: a selection.
-- The declaration is example 1's, but for a ; in the middle of it and the port in its SOURCE.
CREATE STREAM OpenAuction (itemID int,
    sellerID char(10), price real, start_time timestamp)
    ORDER BY start_time /* external timestamps */
    SOURCE 'file://inputs/open_auctions.csv';

SELECT itemID, sellerID, price, start_time
    FROM OpenAuction WHERE price > 1000
