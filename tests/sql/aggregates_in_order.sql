-- ORDER BY inside, WITHIN GROUP, IGNORE NULLS, several values to count: over a stream that comes in disorder.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT array_agg(bidder ORDER BY price DESC) AS highest_first,
       listagg(DISTINCT item, '+') WITHIN GROUP (ORDER BY item DESC) AS items,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY price DESC) AS middle,
       percentile_disc(0.5) WITHIN GROUP (ORDER BY price) AS one_of_them,
       first(bidder ORDER BY price) AS lowest,
       last(price) IGNORE NULLS AS newest,
       count(DISTINCT item, bidder) AS pairs,
       topk(price, 2) AS top,
       earliest_by_offset(bidder) AS first_bidder,
       regr_count(price, length(bidder)) AS numbers
FROM bids [RANGE 10 MINUTES TUMBLING]
