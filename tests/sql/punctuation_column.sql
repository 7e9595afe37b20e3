-- Rows with a value in `closed` are punctuations; b at :07 broke one and missed an extent.
CREATE STREAM events (item STRING, ts TIMESTAMP, closed TIMESTAMP)
  ORDER BY ts SOURCE 'file://inputs/punctuated.csv' WITH (punctuation = 'closed');

SELECT item, count(*) AS n FROM events [RANGE 10 SECONDS TUMBLING] GROUP BY item
