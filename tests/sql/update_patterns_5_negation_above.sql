-- The update-pattern paper's query 5, figure 6 on the left: the negation above the join.
-- The paper draws the plan and says it in words; it prints no text.
CREATE STREAM Link1 (ts TIMESTAMP, duration INT, protocol STRING, size INT, srcIP STRING, destIP STRING,
                      WATERMARK FOR ts AS ts - INTERVAL 6 SECONDS) SOURCE 'file://inputs/conn1.csv';
CREATE STREAM Link2 (ts TIMESTAMP, duration INT, protocol STRING, size INT, srcIP STRING, destIP STRING,
                      WATERMARK FOR ts AS ts - INTERVAL 6 SECONDS) SOURCE 'file://inputs/conn2.csv';
CREATE STREAM Link3 (ts TIMESTAMP, duration INT, protocol STRING, size INT, srcIP STRING, destIP STRING,
                      WATERMARK FOR ts AS ts - INTERVAL 6 SECONDS) SOURCE 'file://inputs/conn3.csv';

CREATE VIEW answer AS
SELECT l.srcIP, l.size, f.size FROM Link1 [RANGE 15 SECONDS] l, Link3 [RANGE 15 SECONDS] f
WHERE l.srcIP = f.srcIP AND f.protocol = 'ftp'
EXCEPT ALL ON (srcIP) SELECT srcIP FROM Link2 [RANGE 15 SECONDS]
