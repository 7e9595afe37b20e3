-- GROUP BY of the window alone groups too: an extent without rows, as that from 12:10 to 12:15, gives no row.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT window_start AS at, window_end, count(*) AS n FROM bids [RANGE 5 MINUTES TUMBLING] GROUP BY window_start, window_end
UNION ALL
SELECT window_start, window_end, count(*) FROM bids GROUP BY window(time, '5 minutes')
