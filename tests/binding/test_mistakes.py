"""Mistakes: where they are, what they are, what to write instead."""

# ruff: noqa: E501  # tables of queries read best with one query to a line
from __future__ import annotations

from collections.abc import Callable

import pytest

from jupyter_stream.errors import QueryError, UnsupportedError

# text with the place of the mistake between « and », message, hint (a part of it), whether it is only not available
MISTAKES = [
    # words out of place
    ("«SELCT» len FROM M", "no statement begins with SELCT", "Did you mean SELECT?"),
    ("SELECT len «FORM» M", "FORM isn't a clause", "Did you mean FROM?"),
    ("SELECT count(*) FROM M «GROP» BY len", "GROP isn't a clause", "Did you mean GROUP BY?"),
    ("SELECT count(*) FROM M «GROPU» BY len", "GROPU isn't a clause", "Did you mean GROUP BY?"),
    ("SELECT len FROM M «WHER» len > 1", "WHER isn't a clause", "Did you mean WHERE?"),
    ("SELECT len FROM M m «WHEER» len > 1", "WHEER isn't expected here", "Did you mean WHERE?"),
    ("SELECT count(*) FROM M GROUP BY len «HAVNG» count(*) > 1", "HAVNG isn't expected here", "Did you mean HAVING?"),
    ("SELECT count(*) FROM M GROUP «len»", "BY is missing here", "Write GROUP BY."),
    ("SELECT len, «FROM» M", "an expression is missing here", "Remove the comma before it."),
    ("SELECT «FROM» M", "the select list is missing here", "Name columns, or write *."),
    ("SELECT len l «ts» FROM M", "ts isn't expected here", "Is a comma missing before it?"),
    ("SELECT len «5» FROM M", "5 isn't expected here", "Is a comma missing before it?"),
    ("SELECT «len»", "FROM is missing here: the statement ends here", "Say which stream"),
    ("«SELECT»", "an expression is missing here: the statement ends here", None),
    ("SELECT len «FROM»", "the name of a stream is missing here: the statement ends here", None),
    ("SELECT len FROM «''»", "the address of the rows is missing here", "a stream's name"),
    ("SELECT len FROM M «WHERE»", "a condition is missing here: the statement ends here", None),
    ("SELECT len FROM M WHERE len «>»", "an expression after > is missing here: the statement ends here", None),
    ("SELECT len FROM M WHERE len > «GROUP» BY len", "an expression after > is missing here", "reserved word"),
    ("SELECT len FROM M WHERE len = «=» 1", "an expression after = is missing here", None),
    ("SELECT len FROM M WHERE (len > «1»", ") is missing here: the statement ends here", "A parenthesis isn't closed."),
    ("SELECT (len «FROM» M", ") is missing here", "A parenthesis isn't closed."),
    ("SELECT upper(srcIP «FROM» M", ") is missing here", "A parenthesis isn't closed."),
    ("SELECT upper(srcIP «len») FROM M", ") is missing here", "Or is a comma or an operator missing?"),
    ("SELECT len FROM M«)»", ") isn't expected here", "There is no ( for this )."),
    ("SELECT len FROM M [RANGE 5 «MINUTES»", "] is missing here: the statement ends here", "Close the window with ]."),
    ("SELECT len FROM M WHERE len BETWEEN 1 «5»", "AND is missing here", "Write x BETWEEN low AND high."),
    ("SELECT len FROM M WHERE len IN «1»", "( is missing here", "x IN (1, 2, 3)"),
    ("SELECT CASE len > 1 «FROM» M", "WHEN is missing here", "CASE WHEN"),
    ("SELECT CASE WHEN len > 1 «'a'» END FROM M", "THEN is missing here", "CASE WHEN"),
    ("SELECT CASE WHEN len > 1 THEN 'a' «FROM» M", "END is missing here", "Every CASE closes with END."),
    ("SELECT «row_num» FROM M [RANGE 1 SECOND] JOIN M [RANGE 1 SECOND] b USING (len)", "there is no column called row_num", "give a join a name"),
    ("SELECT «a.row_num» FROM M [RANGE 1 SECOND] a JOIN M [RANGE 1 SECOND] b ON a.len = b.len", "there is no column a.row_num", "Take it along"),
    ("SELECT max(«row_num») FROM (SELECT a.len FROM M [RANGE 1 SECOND] a JOIN M [RANGE 1 SECOND] b ON a.len = b.len)", "there is no column called row_num", "give a join a name"),
    ("SELECT «row_num» FROM M [RANGE 1 SECOND] WHERE len IN (SELECT len FROM M AS b [RANGE 1 SECOND])", "there is no column called row_num", "Take it along"),
    ("SELECT «row_num» FROM (SELECT count(*) AS n FROM M)", "there is no column called row_num", "answers have none"),
    ("SELECT «row_num» FROM (SELECT len FROM M [ROWS 2])", "there is no column called row_num", "a relation"),
    ("SELECT n FROM (SELECT «row_num» AS n FROM M [ROWS 2])", "there is no column called row_num", "Take it along"),
    ("SELECT len FROM (SELECT len FROM M [ROWS 2] WHERE «row_num > 3»)", "the newest rows have no numbers to go by", "Take it along"),
    # forms written with others
    ("SELECT * FROM trades AS a (x, y, z, v, w) «NATURAL» JOIN trades", "the inputs of this NATURAL JOIN have no column of the same name", "CROSS JOIN"),
    ("SELECT * FROM M «NATURAL» CROSS JOIN trades", "a NATURAL JOIN has its own condition, and a CROSS JOIN has none", "NATURAL LEFT JOIN"),
    ("SELECT * FROM M NATURAL «trades»", "JOIN is missing here", "NATURAL JOIN b"),
    ("SELECT * FROM trades AS t (a, b, c, d, e, «f»)", "6 names for 5 columns", "keep their own"),
    ("SELECT * FROM trades AS t (a, «a»)", "two columns are called a", "another name"),
    ("SELECT * FROM trades AS t («price»)", "two columns are called price", "another name"),
    ("SELECT * FROM trades AS t (a «FROM» b)", ") is missing here", "a name for each column"),
    ("SELECT «symbol» FROM trades AS t (a)", "there is no column called symbol", None),
    ("WITH t (a, «b») AS (SELECT price FROM trades) SELECT * FROM t", "2 names for 1 column", None),
    ("SELECT * FROM (WITH t AS (SELECT price FROM trades) SELECT price FROM t) JOIN «t» ON true", "there is no stream called t", None),
    ("SELECT srcIP, «len», count(*) FROM M GROUP BY ROLLUP (srcIP)", "len is neither grouped nor aggregated", "Add it to GROUP BY"),
    ("SELECT grouping(«len»), count(*) FROM M GROUP BY CUBE (srcIP, destIP)", "grouping() takes grouping columns, and this is none", "Name a column"),
    ("SELECT count(*) FROM M GROUP BY GROUPING SETS «srcIP»", "( is missing here", "GROUPING SETS ((a, b), (a), ())"),
    ("SELECT count(*) FROM M GROUP BY «CUBE (srcIP, srcPort, destIP, destPort, len, length, ts)»", "these are 128 groupings, and a SELECT may have 64", None),
    ("SELECT srcIP, count(*) FROM M [RANGE 1 HOUR TUMBLING] GROUP BY ROLLUP (srcIP, «window_start»)", "every grouping has to have this window: without it, it would be over all rows", "GROUP BY window_start, ROLLUP (a, b)"),
    ("SELECT srcIP, «row_number() OVER (ORDER BY srcIP)» AS n, count(*) FROM M GROUP BY ROLLUP (srcIP)", "row numbers can't be used beside ROLLUP, CUBE and GROUPING SETS", "subquery in FROM"),
    ("SELECT len FROM M WHERE (len, ts) IN ((1, ts), «(1, ts, 2)»)", "2 values can't be compared with 3", "(a, b) = (1, 2)"),
    ("VALUES (1, 2), «(3)»", "this row has another number of values than the first, which has 2", "as many values"),
    ("SELECT * FROM (VALUES (1), «(n)») AS t", "VALUES takes values, not columns", "in quotes"),
    ("SELECT CAST(len «BIGINT») FROM M", "AS is missing here", "CAST(x AS DOUBLE)"),
    ("SELECT CAST(len AS «BIGNIT») FROM M", "there is no type called BIGNIT", "Did you mean BIGINT?"),
    ("SELECT EXTRACT(HOUR «ts») FROM M", "FROM is missing here", "EXTRACT(HOUR FROM ts)"),
    ("SELECT sum(len) FILTER («len» > 1) FROM M", "WHERE is missing here", "FILTER (WHERE condition)"),
    ("SELECT INTERVAL 5 «MINITS» FROM M", "MINITS is not a unit of time", "Did you mean minutes?"),
    ("SELECT «INTERVAL 5» FROM M", "5 has no unit", "5 SECONDS"),
    ("SELECT INTERVAL 1 «QUARTER» FROM M", "months, quarters and years differ in length", None),
    ("SELECT «INTERVAL 1 MONTH» FROM M", "months and years differ in length: they can only be added to a time or subtracted from one", "INTERVAL 30 DAYS"),
    ("SELECT «len + INTERVAL 1 MONTH» FROM M", "months are added to a DATE or a TIMESTAMP, not to INT", None),
    ("SELECT ts + «INTERVAL '1-13' YEAR TO MONTH» FROM M", "'1-13' is not a number of years and months", "'1-2' YEAR TO MONTH"),
    ("SELECT ts + «INTERVAL 9999999999 YEARS» FROM M", "'9999999999' is not a number of years and months", None),
    ("SELECT ts + «INTERVAL '1 24:00' DAY TO MINUTE» FROM M", "'1 24:00' is not an interval of DAY TO MINUTE", "DAY TO SECOND"),
    ("SELECT ts + «INTERVAL '1' MINUTE TO HOUR» FROM M", "MINUTE TO HOUR is not an interval", "from a longer unit"),
    ("SELECT «INTERVAL 'soon'» FROM M", "'soon' is not a length of time", "INTERVAL '10' MINUTE"),
    ("SELECT len FROM M WITH «PREFERENC» DESC SUMMARY.Estimate.Count(len)", "PREFERENCE is missing here", "Did you mean PREFERENCE?"),
    ("SELECT len FROM M WITH PREFERENCE DESC «SUMMARY.Estimat.Count»(len)", "there is no such estimate of a summary", "SUMMARY.Estimate.Count"),
    ("SELECT len FROM M WITH PREFERENCE DESC SUMMARY.Estimate.Count(len) FADE «FACTOR»", "a number is missing here: the statement ends here", "FADE FACTOR 0.8"),
    ("CREATE SUMMARY s ON M (len «+» 1) WITH GRANULARITY 1 MINUTE AND COLLAPSE (4, 3)", ") is missing here", "names of columns only"),
    ("CREATE SUMMARY s ON M (len) «USING» histogram WITH GRANULARITY 1 MINUTE AND COLLAPSE (4, 3)", "USING must come at the end", "COLLAPSE (4, 3) USING"),
    ("SELECT len FROM M AS «where»", "the name of this part of FROM is missing here", "`where`"),
    ("SELECT len AS «from» M", "the name of a column is missing here", "`from`"),
    ("SELECT len FROM «SELECT» len FROM M", "a SELECT in FROM must be in parentheses", "FROM (SELECT ...) AS name"),
    ("SELECT len FROM M GROUP BY len «WHERE» len > 1", "WHERE must come before GROUP BY", None),
    ("SELECT count(*) FROM M HAVING count(*) > 1 «GROUP» BY len", "GROUP BY must come before HAVING", None),
    ("SELECT count(*) FROM M [RANGE 1 HOUR TUMBLING] EMIT «EVRY» 5 SECONDS", "FINAL, CHANGES or EVERY is missing here", "Did you mean EMIT EVERY?"),
    ("SELECT count(*) FROM M [RANGE 1 HOUR TUMBLING] EMIT EVERY «5»", "5 has no unit", None),
    ("SELECT n FROM (SELECT count(*) AS n FROM M «EMIT» FINAL)", "EMIT must come at the end of the whole query, not in a subquery", "Move EMIT to the end"),
    ("WITH x «(»SELECT len FROM M) SELECT len FROM x", "AS is missing here", "WITH name AS"),
    ("SELECT «$ts» FROM M", "a name can't start with $: the system uses such names", "Choose another name"),
    ("SELECT len AS «$x» FROM M", "a name can't start with $: the system uses such names", "Choose another name"),
    ("«%»stream list", "a magic needs a cell of its own", None),
    ("SELECT len FROM M «EXCEPT» SELECT len FROM M1", "EXCEPT of streams without windows would have to remember every row for ever", "[RANGE 5 MINUTES]"),
    ("SELECT len FROM M [RANGE 1 HOUR] «INTERSECT» SELECT len, srcIP FROM M1 [RANGE 1 HOUR]", "the parts of INTERSECT have 1 and 2 columns", None),
    ("SELECT len FROM M [RANGE 1 HOUR] EXCEPT ALL ON («lem») SELECT len FROM M1 [RANGE 1 HOUR]", "the left SELECT has no column called lem", "Did you mean len?"),
    ("SELECT len FROM M [RANGE 1 HOUR] EXCEPT «ON» (len) SELECT len FROM M1 [RANGE 1 HOUR]", "ON can be used with EXCEPT ALL only", None),
    ("CREATE VIEW v AS SELECT len FROM M «EMIT» CHANGES", "EMIT can't be used here: a view always shows the current answer", None),
    # names
    ("SELECT «lenn» FROM M", "there is no column called lenn", "Did you mean len?"),
    ("SELECT «carrier» FROM M", "there is no column called carrier", "The columns are srcIP, srcPort, destIP, destPort, len, length, ts."),
    ("SELECT len FROM M WHERE «scrIP» = 'x'", "there is no column called scrIP", "Did you mean srcIP?"),
    ("SELECT count(*) FROM M GROUP BY «scrIP»", "there is no column called scrIP", "Did you mean srcIP?"),
    ("SELECT «M.lenn» FROM M", "there is no column M.lenn", "Did you mean len?"),
    ("SELECT «x».len FROM M AS y", "x isn't in FROM", "FROM has y only."),
    ("SELECT «M».len FROM M AS y", "M isn't in FROM", "FROM has y only."),
    ("SELECT «x».len FROM (SELECT len FROM M)", "x isn't in FROM", "FROM (...) AS a"),
    ("SELECT «x.*» FROM M", "x isn't in FROM", None),
    ("SELECT len FROM «packet»", "there is no stream called packet", "Did you mean packets?"),
    ("SELECT len FROM M UNION «Mian»", "there is no stream called Mian", "Did you mean Main?"),
    ("SELECT srcIP FROM «late(hourly)»", "hourly has no late rows", "SOURCE"),
    ("SELECT srcIP FROM «layt»(M)", "there is no function called layt in FROM", "late, errors"),
    ("SELECT «uper(srcIP)» FROM M", "there is no function called uper", "Did you mean upper?"),
    ("SELECT «coutn(*)» FROM M", "there is no function called coutn", "Did you mean count?"),
    ("SELECT «upper» FROM M", "there is no column called upper", "Functions are called with parentheses: upper(...)."),
    ("SELECT count(*) FROM M GROUP BY «2»", "there is no select item number 2", "There are 1."),
    ("SELECT len AS a, ts AS «A» FROM M", "two result columns are called A", None),
    # aggregates
    ("SELECT len FROM M WHERE «count(*)» > 1", "an aggregate can't be used in WHERE", "HAVING"),
    ("SELECT quantile(len, «1.5») FROM M", "q must be between 0 and 1, the median being 0.5", "quantile(price, 0.9)"),
    ("SELECT quantile(len, «-0.1») FROM M", "q must be between 0 and 1, the median being 0.5", None),
    ("SELECT quantile(len, «NULL») FROM M", "q must be between 0 and 1, the median being 0.5", None),
    ("SELECT quantile(len, «length») FROM M", "this argument of quantile must be a constant", "Write a number"),
    ("SELECT «median(srcIP)» FROM M", "median takes a number, not STRING", "median(x)"),
    ("SELECT approx_top_k(srcIP, «0») FROM M", "k must be from 1 to 10,000", "approx_top_k(srcIP, 10)"),
    ("SELECT «approx_top_k(srcIP, 1.5)» FROM M", "k of approx_top_k is a whole number, not DOUBLE", None),
    ("SELECT heavy_hitters(srcIP, «0») FROM M", "the fraction must be above 0 and at most 1, such as 0.05 for 5%", None),
    ("SELECT heavy_hitters(srcIP, «1.01») FROM M", "the fraction must be above 0 and at most 1, such as 0.05 for 5%", None),
    ("SELECT «srcIP.a» FROM M", "there is no column srcIP.a", "srcIP is STRING. If it holds JSON, write get_json_object(srcIP, '$.a')."),
    ("SELECT «string_agg(srcIP, 1)» FROM M", "the separator of string_agg is a STRING, not INT", None),
    ("SELECT «bool_and(len)» FROM M", "bool_and takes a condition, not INT", None),
    ("SELECT count(*) FROM M GROUP BY «max(len)»", "an aggregate can't be used in GROUP BY", None),
    ("SELECT max(len) AS m FROM M GROUP BY «m»", "an aggregate can't be a grouping column", None),
    ("SELECT sum(«max(len)») FROM M", "an aggregate can't be used in an aggregate", "in a subquery first"),
    ("SELECT srcIP, «len», count(*) FROM M GROUP BY srcIP", "len is neither grouped nor aggregated", "Add it to GROUP BY, or wrap it, e.g. first(len)."),
    ("SELECT count(*) + M.«len» FROM M", "len is neither grouped nor aggregated", "first(len)"),
    ("SELECT srcIP, count(*) FROM M GROUP BY srcIP HAVING «len» > 1", "len is neither grouped nor aggregated", None),
    ("SELECT «*», count(*) FROM M", "* can't be used in an aggregate query", None),
    ("SELECT len FROM M HAVING «len > 1»", "HAVING needs GROUP BY or an aggregate", "WHERE"),
    ("SELECT «sum(*)» FROM M", "* can be used with count only", "Name a column: sum(x)."),
    ("SELECT «sum(srcIP)» FROM M", "sum takes a number, not STRING", "sum([DISTINCT] x)"),
    ("SELECT «sum()» FROM M", "sum needs an argument", None),
    ("SELECT «upper(DISTINCT srcIP)» FROM M", "DISTINCT can be used in aggregates only, and upper is not one", None),
    ("SELECT «upper(*)» FROM M", "upper(*) doesn't exist", None),
    ("SELECT len FROM M WHERE «window_end» > ts", "there is no column called window_end", None),
    ("SELECT count(*) FROM M [RANGE 1 HOUR TUMBLING] WHERE «window_end» > ts", "window_end can't be used in WHERE: it is a column of the answer", "HAVING"),
    ("SELECT «current_time», count(*) FROM clicks [RANGE 1 HOUR TUMBLING]", "current_time is neither grouped nor aggregated", None),
    # preferences
    ("SELECT len FROM M WITH PREFERENCE DESC «SUMMARY.Estimate.Count(len)»", "there is no summary of len on M", "Write CREATE SUMMARY M_len ON M (len) WITH GRANULARITY 1 MINUTE AND COLLAPSE (4, 3);"),
    ("SELECT len FROM M WITH PREFERENCE DESC «len»", "a preference must use an estimate of a summary", "CREATE SUMMARY"),
    ("SELECT len FROM M WITH PREFERENCE DESC SUMMARY.Estimate.Count(«lem»)", "there is no column called lem", "Did you mean len?"),
    ("SELECT len FROM M WITH PREFERENCE DESC SUMMARY.Estimate.Count(«len + 1»)", "an estimate takes the name of a column", None),
    ("SELECT len FROM M WITH PREFERENCE DESC «SUMMARY.Estimate.Cuont»(len)", "there is no estimate called SUMMARY.Estimate.Cuont", "SUMMARY.Estimate.Count"),
    ("SELECT len FROM M WITH PREFERENCE «EMIT» FINAL", "an expression is missing after WITH PREFERENCE", "SUMMARY.Estimate.Count"),
    ("SELECT len FROM M WITH PREFERENCE «DECS» SUMMARY.Estimate.Count(len)", "DESC, ASC or WEIGHTED is expected here", "Did you mean DESC?"),
    ("SELECT len FROM M WITH PREFERENCE ASC SUMMARY.Estimate.Count(len) FADE FACTOR «1.5»", "a fade factor must be more than 0 and at most 1", "FADE FACTOR 0.8"),
    ("SELECT len FROM M WITH PREFERENCE ASC SUMMARY.Estimate.Count(len) FADE FACTOR «0»", "a fade factor must be more than 0 and at most 1", None),
    ("SELECT len FROM M WITH PREFERENCE ASC SUMMARY.Estimate.Count(len) FADE FACTOR «-0.5»", "a fade factor must be more than 0 and at most 1", None),
    ("SELECT len FROM M [RANGE 1 HOUR] WITH PREFERENCE ASC SUMMARY.Estimate.Count(len) «WINDOW 1 MINUTE»", "the streams already have a window", None),
    ("SELECT len FROM (SELECT len FROM M «WITH» PREFERENCE DESC len)", None, None),
    ("SELECT «SUMMARY.Estimate.Count(len)» FROM M", "estimates of a summary can be used in WITH PREFERENCE only", "count(*)"),
    ("CREATE SUMMARY x ON «Q» (len) WITH GRANULARITY 1 MINUTE AND COLLAPSE (4, 3)", "there is no stream called Q", None),
    ("CREATE SUMMARY x ON M («lem») WITH GRANULARITY 1 MINUTE AND COLLAPSE (4, 3)", "M has no column lem", "Did you mean len?"),
    ("CREATE SUMMARY x ON M (len) WITH GRANULARITY 1 MINUTE AND COLLAPSE («1», 0)", "the rate of COLLAPSE must be a whole number, at least 2", "COLLAPSE (4, 3)"),
    ("CREATE SUMMARY x ON M (len) WITH GRANULARITY 1 MINUTE AND COLLAPSE (4, «0»)", "the depth of COLLAPSE must be a whole number, at least 1", "COLLAPSE (4, 3)"),
    ("CREATE SUMMARY x ON M (len) WITH GRANULARITY «1 MINUTE» AND COLLAPSE (1000, 1000)", "the oldest granularity would be too long: COLLAPSE multiplies it too often", None),
    ("CREATE SUMMARY x ON M (len) WITH GRANULARITY 1 MINUTE AND COLLAPSE (4, 3) USING «histogramm»", "there is no kind of summary called histogramm", "Did you mean histogram?"),
    # types
    ("SELECT len FROM M WHERE «len»", "WHERE takes a condition, and this is INT", "Compare it with something"),
    ("SELECT count(*) FROM M HAVING «count(*)»", "HAVING takes a condition, and this is BIGINT", None),
    ("SELECT sum(len) FILTER (WHERE «len») FROM M", "FILTER takes a condition, and this is INT", None),
    ("SELECT CAST(«tags AS INT)» FROM clicks", None, None),
    ("SELECT «ts * 2» FROM M", None, None),
    ("SELECT len FROM M WHERE «ts > TRUE»", None, None),
    ("SELECT len IS «5» FROM M", "IS takes NULL, TRUE or FALSE", "Compare values with =."),
    ("SELECT len FROM M UNION «ALL» SELECT len, ts FROM M", None, None),
    ("SELECT ts FROM M «UNION» ALL SELECT TRUE FROM M", "column 1 of a union can't be TIMESTAMP and BOOLEAN", "by position"),
    ("SELECT len FROM M «UNION» ALL SELECT len, ts FROM M", "the parts of a union have 1 and 2 columns", None),
    # lag
    ("SELECT «lag()» OVER () FROM M", "lag takes 1 to 3 arguments: lag(x[, n[, default]])", None),
    ("SELECT lag(len, «0») OVER () FROM M", "the second argument of lag must be a positive number of rows", "Write lag(x, 1)"),
    ("SELECT lag(len, «len») OVER () FROM M", "the second argument of lag must be a positive number of rows", "Write lag(x, 1)"),
    ("SELECT lag(len) OVER «(PARTITION BY srcIP ROWS 3 PRECEDING)» FROM M", "lag takes no frame: it counts the rows of the partition", "Write OVER (PARTITION BY srcIP)."),
    ("SELECT earliest_by_offset(len ORDER BY «srcIP») FROM M", "earliest_by_offset goes by event time", "first(x ORDER BY y)"),
    ("SELECT «sum»(len) WITHIN GROUP (ORDER BY len) FROM M", "sum takes no WITHIN GROUP", "percentile_cont"),
    ("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY len, «ts») FROM M", "percentile_cont goes by one expression", None),
    ("SELECT mode() WITHIN GROUP (ORDER BY «len DESC») FROM M", "mode gives the least of several values, so it has no DESC", None),
    ("SELECT percentile_cont(0.5) WITHIN GROUP («len») FROM M", "ORDER BY is missing here", "percentile_cont(0.9) WITHIN GROUP"),
    ("SELECT «abs(len ORDER BY ts)» FROM M", "ORDER BY, FILTER and windows go with aggregates only, and abs is not one", None),
    ("SELECT «regr_slope(len)» FROM M", "regr_slope takes two numbers, without DISTINCT", "Usage: regr_slope(y, x)"),
    ("SELECT topk(len, «0») FROM M", "topk keeps 1 to 10,000 values", None),
    ("SELECT srcIP GLOB «destIP» FROM M", "the pattern of GLOB must be a text", "rlike(x, pattern)"),
    ("SELECT srcIP SIMILAR TO «destIP» FROM M", "the pattern of SIMILAR TO must be a text", None),
    ("SELECT FLOOR(ts TO «EON») FROM M", "a unit of time is missing here", "FLOOR(ts TO HOUR)"),
    ("SELECT len FROM M ORDER BY len FETCH «5» ROWS ONLY", "FIRST is missing here", "FETCH FIRST 10 ROWS ONLY"),
    ("SELECT len FROM M ORDER BY len FETCH FIRST 5 «ONLY»", "ROWS ONLY is missing here", "LIMIT 10"),
    ("SELECT «lag(len)» FILTER (WHERE len > 1) OVER () FROM M", "lag can't be used with FILTER, DISTINCT or IGNORE NULLS", "Filter in a subquery"),
    ("SELECT ts FROM M «UNION» ALL SELECT CAST(at AS TIMESTAMP) FROM trades", "a union needs one kind of time: some parts have TIMESTAMP, some BIGINT", "timestamp_unit"),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "message", "hint"), MISTAKES, ids=[m[0] for m in MISTAKES])
def test_a_mistake_is_shown_where_it_is(
    mistake: Callable[..., QueryError], marked: str, message: str | None, hint: str | None
) -> None:
    if message is None:
        mistake(marked.replace("«", "").replace("»", ""))
        return
    start, end = marked.index("«"), marked.index("»") - 1
    text = marked.replace("«", "").replace("»", "")
    for before, line, column in (("", 1, start + 1), ("SHOW STREAMS;\n\n  ", 3, start + 3)):
        error = mistake(before + text)
        assert error.message == message
        assert not isinstance(error, UnsupportedError)
        assert (error.line, error.column) == (line, column)
        assert error.width == end - start, error
        assert (hint or "") in (error.hint or "")


NOT_YET = [
    ("SELECT max(n) FROM «(SELECT max(m) AS n FROM (SELECT max(len) AS m FROM M [RANGE 1 HOUR TUMBLING]) [ROWS 5])»", None),
    ("SELECT «lead(len)» OVER () FROM M", None),
    ("CREATE STREAM x AS «SELECT count(*) FROM M»", None),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "clause"), NOT_YET, ids=[m[0] for m in NOT_YET])
def test_what_cant_run_yet_is_named(mistake: Callable[..., QueryError], marked: str, clause: str | None) -> None:
    error = mistake(marked.replace("«", "").replace("»", ""))
    assert isinstance(error, UnsupportedError)
    if clause is not None:
        assert error.message == f"{clause} isn't available in this version"
        assert error.column == marked.index("«") + 1, error
