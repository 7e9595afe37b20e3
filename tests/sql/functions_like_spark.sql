-- What functions make of NULLs, of numbers too large, of texts and lengths of time: as Spark with ANSI on. A missing item is an error of its row.
CREATE STREAM Main1 (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/main1.csv';

SELECT len, substring(srcIP, 2, NULL) AS nothing, ceil(len * 1e30) AS most, floor(-1e30) AS least,
       '2017-12-11' - INTERVAL 1 DAY AS day_before,
       TIMESTAMP '2024-03-01' + INTERVAL '0.9999999' SECOND AS cut,
       to_timestamp('12:13:14.5', 'HH:mm:ss.SSS') AS half,
       array(100, 40)[len % 10] AS item, get(array(100, 40), len % 10) AS maybe
FROM Main1
