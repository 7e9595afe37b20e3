-- ROWS UNBOUNDED PRECEDING counts the rows up to each one, by time and then arrival; RANGE counts those of the same time as well.
CREATE STREAM minutes (srcIP STRING, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/minutes.csv';

SELECT row_num, sum(row_num) OVER (ROWS UNBOUNDED PRECEDING) AS up_to_it,
       sum(row_num) OVER (ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS the_same,
       count(*) OVER (PARTITION BY srcIP ROWS UNBOUNDED PRECEDING) AS place,
       last(srcIP) OVER (ROWS UNBOUNDED PRECEDING) AS own,
       sum(row_num) OVER (RANGE UNBOUNDED PRECEDING) AS with_peers
FROM minutes
