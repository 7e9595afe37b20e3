-- ESL example 3: a derived stream.
CREATE STREAM OpenAuction (itemID int,
    sellerID char(10), price real, start_time timestamp)
    ORDER BY start_time /* external timestamps */
    SOURCE 'file://inputs/open_auctions.csv';

CREATE STREAM expensiveItems AS
    SELECT itemID, sellerID, price, start_time
    FROM OpenAuction WHERE price > 1000;

SELECT itemID, price FROM expensiveItems
