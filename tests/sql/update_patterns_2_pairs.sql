-- The update-pattern paper's query 2: the distinct pairs of source and destination on a link.
-- The paper draws its plan (Figure 8) and says it in words; it prints no text.
CREATE STREAM Link1 (ts TIMESTAMP, duration INT, protocol STRING, size INT, srcIP STRING, destIP STRING,
                      WATERMARK FOR ts AS ts - INTERVAL 6 SECONDS) SOURCE 'file://inputs/conn1.csv';

CREATE VIEW answer AS
SELECT DISTINCT srcIP, destIP FROM Link1 [RANGE 15 SECONDS]
