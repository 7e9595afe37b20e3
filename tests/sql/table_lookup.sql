-- Bytes per minute and host name; the table knows two of three hosts.
CREATE STREAM Main (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP,
                    WATERMARK FOR ts AS ts - INTERVAL 15 SECONDS)
  SOURCE 'file://inputs/main.csv';
CREATE TABLE hosts (ip STRING, host STRING);
INSERT INTO hosts VALUES ('202.101.0.0', 'ant'), ('202.101.0.1', 'bee');

SELECT host, sum(len) AS bytes
FROM Main [RANGE 1 MINUTE TUMBLING] m LEFT JOIN hosts h ON m.srcIP = h.ip
GROUP BY host
