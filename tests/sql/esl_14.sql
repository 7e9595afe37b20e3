-- ESL example 14: SLIDE in OVER.
CREATE STREAM Bid(itemID int,
    price real, bidderID char(10), bid_time timestamp)
    ORDER BY bid_time
    SOURCE 'file://inputs/auction_bids.csv';

SELECT itemID, sum(bid.price)
OVER(PARTITION BY itemID
ROWS 49 PRECEDING SLIDE 10)
FROM Bid
