-- The update-pattern paper's query 3: a negation of two links on the source; the rows that stay are the youngest.
-- The paper draws its plan (Figure 8) and says it in words; it prints no text.
CREATE STREAM Link1 (ts TIMESTAMP, duration INT, protocol STRING, size INT, srcIP STRING, destIP STRING,
                      WATERMARK FOR ts AS ts - INTERVAL 6 SECONDS) SOURCE 'file://inputs/conn1.csv';
CREATE STREAM Link2 (ts TIMESTAMP, duration INT, protocol STRING, size INT, srcIP STRING, destIP STRING,
                      WATERMARK FOR ts AS ts - INTERVAL 6 SECONDS) SOURCE 'file://inputs/conn2.csv';

CREATE VIEW answer AS
SELECT srcIP, size FROM Link1 [RANGE 15 SECONDS]
EXCEPT ALL ON (srcIP) SELECT srcIP FROM Link2 [RANGE 15 SECONDS]
