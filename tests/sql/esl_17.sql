-- ESL example 17, in the paper's words: readings less than 3 seconds apart are a group.
CREATE STREAM tag_readings(tagid INT, tagtype CHAR(5), tagtime TIMESTAMP)
    ORDER BY tagtime SOURCE 'file://inputs/tags.csv';
CREATE AGGREGATE grouped(tagid, tagtime) : (tagid INT, grp INT)
{ TABLE last(t TIMESTAMP, g INT);
  INITIALIZE : { INSERT INTO last VALUES (tagtime, 1); INSERT INTO RETURN VALUES (tagid, 1); }
  ITERATE : {
    UPDATE last SET g = g + 1 WHERE tagtime - t > INTERVAL 3 SECONDS;
    UPDATE last SET t = tagtime;
    INSERT INTO RETURN SELECT tagid, g FROM last; } };

SELECT grouped(tagid, tagtime).tagid, grouped(tagid, tagtime).grp FROM tag_readings
