-- ESL example 2: a selection.
CREATE STREAM OpenAuction (itemID int,
    sellerID char(10), price real, start_time timestamp)
    ORDER BY start_time /* external timestamps */
    SOURCE 'file://inputs/open_auctions.csv';

SELECT itemID, sellerID, price, start_time
    FROM OpenAuction WHERE price > 1000
