-- Two table functions joined on what they say of their windows, and a row without a partner has no window of the other.
CREATE STREAM person (id BIGINT, name STRING, dateTime TIMESTAMP, WATERMARK FOR dateTime AS dateTime)
  SOURCE 'file://inputs/nexmark_persons.csv';
CREATE STREAM auction (id BIGINT, seller BIGINT, dateTime TIMESTAMP, WATERMARK FOR dateTime AS dateTime)
  SOURCE 'file://inputs/nexmark_auctions.csv';

SELECT L.id AS person, R.id AS auction, L.window_end AS came, R.window_end AS opened, window_end
FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(dateTime), INTERVAL '10' SECONDS)) L
FULL JOIN TABLE(TUMBLE(TABLE auction, DESCRIPTOR(dateTime), INTERVAL '10' SECONDS)) R
ON L.id = R.seller AND L.window_start = R.window_start AND L.window_end = R.window_end
WHERE window_end < TIMESTAMP '2024-05-05 12:00:30'
