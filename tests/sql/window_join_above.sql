-- Aggregates over a left join of three windowed aggregates, one of them of longer windows.
CREATE STREAM person (id BIGINT, name STRING, dateTime TIMESTAMP, WATERMARK FOR dateTime AS dateTime)
  SOURCE 'file://inputs/nexmark_persons.csv';
CREATE STREAM auction (id BIGINT, seller BIGINT, dateTime TIMESTAMP, WATERMARK FOR dateTime AS dateTime)
  SOURCE 'file://inputs/nexmark_auctions.csv';
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP, WATERMARK FOR dateTime AS dateTime)
  SOURCE 'file://inputs/nexmark_bids.csv';

SELECT sum(n) AS bids, count(opened) AS sellers, sum(coming) AS coming
FROM (
  SELECT b.bidder, b.n, a.opened, p.coming
  FROM (SELECT bidder, count(*) AS n FROM bid [RANGE 5 SECONDS TUMBLING] GROUP BY bidder) b
  LEFT JOIN (SELECT seller, count(*) AS opened FROM auction [RANGE 5 SECONDS TUMBLING] GROUP BY seller) a
    ON a.seller = b.bidder AND a.window_start = b.window_start AND a.window_end = b.window_end
  LEFT JOIN (SELECT count(*) AS coming, window_start, window_end FROM person [RANGE 10 SECONDS TUMBLING]) p
    ON b.window_end > p.window_start AND b.window_end <= p.window_end
) [RANGE 10 SECONDS TUMBLING]
