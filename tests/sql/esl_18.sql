-- ESL example 18: products that leave without a person with a pass.
CREATE STREAM tag_readings(tagid INT, tagtype CHAR(5), tagtime TIMESTAMP)
    ORDER BY tagtime SOURCE 'file://inputs/tags.csv';
AGGREGATE item_alarm(tagid, tagtype, tagtime):char
{
TABLE inwindow(tid, ttype, ttime);
INITIALIZE: ITERATE: {
DELETE FROM inwindow
WHERE tagtype = 'ap' AND ttype = 'item';
DELETE FROM inwindow
WHERE tagtype = 'item' AND ttype = 'item' AND EXISTS
(SELECT tid FROM inwindow WHERE ttype = 'ap'); }
EXPIRE: {
INSERT INTO RETURN VALUES ('larceny alarm')
WHERE tagtype = 'item' AND NOT EXISTS
(SELECT tid FROM inwindow WHERE ttype='ap'); }
};
CREATE STREAM larceny-in-progress AS (
SELECT tagid, tagtime, item_alarm(tagid, tagtype, tagtime) OVER
(RANGE 5 SECONDS PRECEDING ACTIVE EXPIRATION)
FROM tag_readings);

SELECT * FROM larceny-in-progress
