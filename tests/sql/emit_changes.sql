-- Revisions of open answers are replaced; once the input has ended, only final rows are left, and say so.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT count(*) AS n FROM bids [RANGE 10 MINUTES TUMBLING] EMIT CHANGES
