-- The update-pattern paper's query 5, figure 6 on the right: the negation below the join.
-- The paper draws the plan and says it in words; it prints no text.
CREATE STREAM Link1 (ts TIMESTAMP, duration INT, protocol STRING, size INT, srcIP STRING, destIP STRING,
                      WATERMARK FOR ts AS ts - INTERVAL 6 SECONDS) SOURCE 'file://inputs/conn1.csv';
CREATE STREAM Link2 (ts TIMESTAMP, duration INT, protocol STRING, size INT, srcIP STRING, destIP STRING,
                      WATERMARK FOR ts AS ts - INTERVAL 6 SECONDS) SOURCE 'file://inputs/conn2.csv';
CREATE STREAM Link3 (ts TIMESTAMP, duration INT, protocol STRING, size INT, srcIP STRING, destIP STRING,
                      WATERMARK FOR ts AS ts - INTERVAL 6 SECONDS) SOURCE 'file://inputs/conn3.csv';

CREATE VIEW answer AS
SELECT n.srcIP, n.size, f.size
FROM (SELECT srcIP, size FROM Link1 [RANGE 15 SECONDS]
      EXCEPT ALL ON (srcIP) SELECT srcIP FROM Link2 [RANGE 15 SECONDS]) n,
     Link3 [RANGE 15 SECONDS] f
WHERE n.srcIP = f.srcIP AND f.protocol = 'ftp'
