-- NEXMark query 7: the highest bids of each ten seconds, whose row is found by BETWEEN on the window's end.
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP, WATERMARK FOR dateTime AS dateTime)
  SOURCE 'file://inputs/nexmark_bids.csv';

SELECT B.auction, B.price, B.bidder, B.dateTime
FROM bid B
JOIN (
  SELECT max(price) AS maxprice, window_end AS dateTime
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end
) B1
ON B.price = B1.maxprice
WHERE B.dateTime BETWEEN B1.dateTime - INTERVAL '10' SECOND AND B1.dateTime
