-- ESL example 15: the paned rewrite of example 14, written out.
CREATE STREAM Bid(itemID int,
    price real, bidderID char(10), bid_time timestamp)
    ORDER BY bid_time
    SOURCE 'file://inputs/auction_bids.csv';

CREATE STREAM temp AS (
  SELECT itemID, sum(bid.price) AS s
    OVER(PARTITION BY itemID ROWS 9
         PRECEDING SLIDE 10)
  FROM Bid);
SELECT itemID, sum(s)
  OVER(PARTITION BY itemID ROWS 4 PRECEDING)
FROM temp
