-- DECIMALs as grouping column and under aggregates: exact sums of ten digits more, of more than 28 digits a DOUBLE; the mean is a DOUBLE.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT CAST(price / 8 AS DECIMAL(3,0)) AS eighth,
       count(*) AS n,
       sum(CAST(price AS DECIMAL(6,2))) AS total,
       avg(CAST(price AS DECIMAL(6,2))) AS mean,
       min(CAST(price AS DECIMAL(6,2))) AS least,
       max(CAST(price AS DECIMAL(6,2))) AS most,
       count(DISTINCT CAST(price AS DECIMAL(3,0))) AS kinds,
       sum(CAST(price AS DECIMAL(38,2))) AS wide
FROM bids [RANGE 10 MINUTES TUMBLING]
GROUP BY CAST(price / 8 AS DECIMAL(3,0))
HAVING max(CAST(price AS DECIMAL(6,2))) > CAST(3 AS DECIMAL(3,1))
