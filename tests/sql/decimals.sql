-- A number as a DECIMAL: rounded half up, shown with all its digits, an error of the row beyond its range, multiplied exactly.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT item, bidder,
       CAST(price / 8 AS DECIMAL(5,2)) AS eighth,
       CAST(CAST(price / 8 AS DECIMAL(10,3)) AS STRING) AS shown,
       CAST(price + 1 AS DECIMAL(3,1)) AS more,
       TRY_CAST(price AS DECIMAL(2,1)) AS tried,
       CAST(price / 8 AS DECIMAL(5,2)) * 2 AS twice
FROM bids
WHERE CAST(price AS DECIMAL(5,2)) <> 5.5
