-- In each extent of a disordered stream: what comes next, and the share of the whole.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT item, count(*) AS n, rank() OVER (ORDER BY count(*) DESC) AS place, sum(count(*)) OVER () AS of_all,
  lead(item) OVER (ORDER BY item) AS following
FROM bids [RANGE 5 MINUTES TUMBLING] GROUP BY item
