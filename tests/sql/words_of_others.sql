-- Predicates and calls as other systems write them, over a stream that comes in disorder; ties of CEIL stay where they are.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT item GLOB '[!v]a*' AS globbed, item SIMILAR TO '(vase|s%)' AS similar_to, item !~ 'a' AS unlike, bidder ~* 'A' AS with_a,
       bidder ~~ '%d%' AS end, price BETWEEN SYMMETRIC 11 AND 4 AS middling, (price > NULL) IS UNKNOWN AS unknown,
       OVERLAY(item PLACING bidder FROM 2 FOR 2) AS over_laid, TRIM(LEADING 'v' FROM item) AS trimmed,
       FLOOR(time TO HOUR) AS hour, CEIL(time TO MINUTE) AS minute
FROM bids
WHERE item NOT GLOB 'lamp' OR price >= 12
