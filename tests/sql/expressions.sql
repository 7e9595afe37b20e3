-- Expressions in the select list, in WHERE, as grouping column, and around aggregates; the window's bounds where they are named.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT upper(substring(item, 1, 1)) AS initial,
       window_end,
       count(*) * 10 AS ten_times,
       sum(price * 2) / count(*) AS twice_the_mean,
       CASE WHEN max(price) > 10 THEN 'dear' ELSE 'cheap' END AS kind,
       coalesce(nullif(min(bidder), 'ada'), 'nobody') AS who,
       window_start
FROM bids [RANGE 10 MINUTES SLIDE 10 MINUTES]
WHERE price BETWEEN 3.5 AND 50 AND bidder <> 'dan'
GROUP BY upper(substring(item, 1, 1))
