-- The update-pattern paper's query 1: connections of two links from one source, both with ftp (here as a materialized view).
-- The paper draws its plan (Figure 8) and says it in words; it prints no text.
CREATE STREAM Link1 (ts TIMESTAMP, duration INT, protocol STRING, size INT, srcIP STRING, destIP STRING,
                      WATERMARK FOR ts AS ts - INTERVAL 6 SECONDS) SOURCE 'file://inputs/conn1.csv';
CREATE STREAM Link2 (ts TIMESTAMP, duration INT, protocol STRING, size INT, srcIP STRING, destIP STRING,
                      WATERMARK FOR ts AS ts - INTERVAL 6 SECONDS) SOURCE 'file://inputs/conn2.csv';

CREATE VIEW answer AS
SELECT l.srcIP, l.size, r.size FROM Link1 [RANGE 15 SECONDS] l, Link2 [RANGE 15 SECONDS] r
WHERE l.srcIP = r.srcIP AND l.protocol = 'ftp' AND r.protocol = 'ftp'
