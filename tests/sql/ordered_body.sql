-- ORDER BY, LIMIT and OFFSET in the body of a user-defined aggregate: the two longest packets of each minute.
CREATE STREAM Main1 (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/main1.csv';
CREATE AGGREGATE longest (source STRING, length INT) : (source STRING, length INT)
{ TABLE seen (s STRING, l INT);
  INITIALIZE : ITERATE : { INSERT INTO seen VALUES (source, length); }
  TERMINATE : { INSERT INTO RETURN SELECT s, l FROM seen ORDER BY l DESC LIMIT 2; } };

SELECT longest(srcIP, len).source AS source, longest(srcIP, len).length AS length FROM Main1 [RANGE 1 MINUTE TUMBLING]
