-- A row for each word of a bid, numbered, counted in each five minutes; rows come in disorder.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT part, place, count(*) AS n, max(price) AS most
FROM bids [RANGE 5 MINUTES TUMBLING], UNNEST(split(item, '[ao]')) WITH ORDINALITY AS p (part, place)
WHERE part <> ''
GROUP BY part, place
