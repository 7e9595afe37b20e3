-- The same in Flink's older spelling, HOP_START and HOP_END beside GROUP BY HOP.
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP, WATERMARK FOR dateTime AS dateTime)
  SOURCE 'file://inputs/nexmark_bids.csv';

SELECT AuctionBids.auction, AuctionBids.num, AuctionBids.endtime
FROM (
  SELECT B1.auction, count(*) AS num,
    HOP_START(B1.dateTime, INTERVAL '2' SECOND, INTERVAL '10' SECOND) AS starttime,
    HOP_END(B1.dateTime, INTERVAL '2' SECOND, INTERVAL '10' SECOND) AS endtime
  FROM bid B1
  GROUP BY B1.auction, HOP(B1.dateTime, INTERVAL '2' SECOND, INTERVAL '10' SECOND)
) AS AuctionBids
JOIN (
  SELECT max(CountBids.num) AS maxn, CountBids.starttime, CountBids.endtime
  FROM (
    SELECT count(*) AS num,
      HOP_START(B2.dateTime, INTERVAL '2' SECOND, INTERVAL '10' SECOND) AS starttime,
      HOP_END(B2.dateTime, INTERVAL '2' SECOND, INTERVAL '10' SECOND) AS endtime
    FROM bid B2
    GROUP BY B2.auction, HOP(B2.dateTime, INTERVAL '2' SECOND, INTERVAL '10' SECOND)
  ) AS CountBids
  GROUP BY CountBids.starttime, CountBids.endtime
) AS MaxBids
ON AuctionBids.starttime = MaxBids.starttime AND AuctionBids.endtime = MaxBids.endtime AND AuctionBids.num >= MaxBids.maxn
