-- The watermark says how the stream progresses, and ORDERED beside it only how much out of order rows are:
-- the sofa, 90 seconds behind, counts as ever and is listed.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 1 HOUR,
                    CONSTRAINT ORDERED (time) WITHIN 1 MINUTE)
  SOURCE 'file://inputs/bids.csv';

SELECT count(*) AS n FROM bids [RANGE 10 MINUTES TUMBLING]
