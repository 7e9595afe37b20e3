-- A window that grows: within each ten minutes, one more two-minute step at a time, as Flink's CUMULATE.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT window_start, window_end, sum(price) AS price
FROM CUMULATE(TABLE bids, DESCRIPTOR(time), INTERVAL '2' MINUTE, INTERVAL '10' MINUTE)
GROUP BY item, window_start, window_end HAVING item = 'lamp'
