-- ESL example 3: a derived stream.
-- The declaration is example 1's, but for a ; in the middle of it and the port in its SOURCE.
CREATE STREAM OpenAuction (itemID int,
    sellerID char(10), price real, start_time timestamp)
    ORDER BY start_time /* external timestamps */
    SOURCE 'file://inputs/open_auctions.csv';

CREATE STREAM expensiveItems AS
    SELECT itemID, sellerID, price, start_time
    FROM OpenAuction WHERE price > 1000;

SELECT itemID, price FROM expensiveItems
