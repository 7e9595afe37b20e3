-- * without some of its columns; a number in ORDER BY beside * counts the columns it shows.
CREATE STREAM Main1 (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/main1.csv';

SELECT m.* EXCEPT (ts), -len AS less FROM Main1 m [RANGE 1 MINUTE TUMBLING] ORDER BY 3 LIMIT 1
