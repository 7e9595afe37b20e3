-- Lambdas, slices, arrays and STRUCTs as literals, JSON, formats and patterns that are columns, of rows in disorder.
CREATE STREAM bids (item STRING, bidder STRING, price DOUBLE, time TIMESTAMP, WATERMARK FOR time AS time - INTERVAL 2 MINUTES)
  SOURCE 'file://inputs/bids.csv';

SELECT item[1:2] AS two, transform(split(item, 'a'), (part, i) -> concat(part, bidder, i)) AS parts,
       filter([price, 5.0, 11], x -> x > 10) AS large, aggregate(sequence(1, 3), price, (sum, i) -> sum + i) AS total,
       exists([1, 2], x -> x > price) AS some, item LIKE concat('%', bidder[2:2], '%') AS alike,
       regexp_replace(item, concat('[', bidder, ']'), '_') AS hidden, concat_ws(bidder[1:1], item, NULL, bidder) AS joined,
       to_json(struct(item AS i, [price] AS p)) AS text, from_json(concat('{"p": ', price, '}'), 'p DOUBLE').p AS price,
       format_string('%-5s|%06.2f|%,d', item, price, CAST(price * 1000 AS INT)) AS shown,
       date_format(time, 'Q [DDD]') AS day, strftime(time + INTERVAL '1 month 1 day', '%d.%m.%y') AS later,
       jaro_winkler_similarity(item, 'lamb') > 0.8 AS like_lamb, CAST(price AS DECIMAL(6,2)) * 2 + 1 AS exact
FROM bids
