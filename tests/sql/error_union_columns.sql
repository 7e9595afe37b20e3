CREATE STREAM Main1 (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/main1.csv';
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP) ORDER BY time SOURCE 'file://inputs/bids.csv';
SELECT count(*) [RANGE 1 MINUTE, SLIDE 1 MINUTE] FROM Main1 UNION bids
