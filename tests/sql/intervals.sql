-- Months and years are added to a day, which stays in its month; lengths of time in several units.
CREATE STREAM Main1 (srcIP STRING, len INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/main1.csv';

SELECT ts + INTERVAL 1 MONTH AS later, CAST(INTERVAL '1' YEAR + DATE '2024-02-29' AS STRING) AS leap,
       ts - INTERVAL '1-1' YEAR TO MONTH AS before, CAST(DATE '2024-03-31' - INTERVAL 1 YEAR 1 MONTH AS STRING) AS last,
       ts + INTERVAL '1 2:03' DAY TO MINUTE - INTERVAL '-1:30.5' MINUTE TO SECOND AS next
FROM Main1
WHERE ts < TIMESTAMP '2023-03-01 10:00:59' + INTERVAL 12 MONTHS
