"""Good queries and the plans they are bound to."""

# ruff: noqa: E501  # tables of queries read best with one query to a line
from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from jupyter_stream.binding import bind_derived
from jupyter_stream.functions import Literal
from jupyter_stream.plan.catalog import Catalog
from jupyter_stream.plan.logical import BoundQuery, Emit, Project
from jupyter_stream.syntax import CreateStreamAs, parse

W = "window_start=$window_start, window_end=$window_end"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # projections and selections
        ("SELECT * FROM M", "M"),
        ("SELECT m.* FROM M AS m", "M"),
        ("SELECT * FROM M WHERE len > 3", "Filter((len > 3)) <- M"),
        ("select SRCIP, Len from m", "Project(srcIP, len) <- M"),
        ("SELECT M.len, m.len AS l FROM M", "Project(len, l=len) <- M"),
        ("SELECT p.len FROM M p", "Project(len) <- M"),
        ("SELECT len + 1, -len, len * 2 twice FROM M", "Project(len + 1=(len + 1), -len=neg(len), twice=(len * 2)) <- M"),
        ("SELECT len/* note */+ -- more\n 1 FROM M", "Project(len + 1=(len + 1)) <- M"),
        ("SELECT len, len, len AS len_2 FROM M", "Project(len, len_3=len, len_2=len) <- M"),
        ("SELECT *, current_time FROM bids", "Project(item, bid_time, other, current_time=$ts) <- bids"),
        ("SELECT len AS a, a + 1 AS b FROM M", "Project(a=len, b=(len + 1)) <- M"),
        ("SELECT row_num, len FROM M", "Project(row_num=$row, len) <- M"),
        ("SELECT current_time, user FROM clicks", "Project(current_time=$ts, user) <- clicks"),
        ("SELECT `order` FROM trades", "Project(order) <- trades"),
        ("SELECT ISTREAM len FROM M", "Project(len) <- M"),
        ("SELECT len FROM M [RANGE 5 MINUTES]", "Project(len) <- M"),
        # FROM
        ("SELECT len FROM (SELECT * FROM M WHERE len > 1) AS x WHERE x.len < 9", "Project(len) <- Filter((len < 9)) <- Filter((len > 1)) <- M"),
        ("SELECT a FROM (SELECT b AS a FROM (SELECT len AS b FROM M))", "Project(a=b) <- Project(b=len) <- M"),
        ("WITH x AS (SELECT len FROM M), y AS (SELECT len AS l FROM x) SELECT l FROM y", "Project(l=len) <- Project(len) <- M"),
        ("SELECT * FROM late(M) WHERE missed > 1", "Filter((missed > 1)) <- late(M)"),
        ("SELECT n FROM hourly", "Project(n) <- hourly"),
        ("SELECT len FROM M UNION M1", "Project(len) <- Union(M; M1)"),
        ("SELECT x.len FROM M UNION ALL M1 AS x", "Project(len) <- Union(M; M1)"),
        ("SELECT len FROM (M ∪ (M1 ∪ Main)) x", "Project(len) <- Union(M; M1; Main)"),
        ("SELECT len FROM M UNION ALL SELECT srcPort FROM M1", "Union(Project(len) <- M; Project(len=srcPort) <- M1)"),
        ("SELECT len, 1.5 AS x FROM M UNION ALL SELECT 2.5, len FROM M1", "Union(Project(len=cast(len AS DOUBLE), x=1.5) <- M; Project(len=2.5, x=cast(len AS DOUBLE)) <- M1)"),
        ("SELECT len FROM M UNION ALL (SELECT len FROM M1)", "Union(Project(len) <- M; Project(len) <- M1)"),
        ("SELECT len FROM M UNION ALL ((SELECT len FROM M1))", "Union(Project(len) <- M; Project(len) <- M1)"),
        ("SELECT len FROM (M UNION (SELECT * FROM M1)) x", "Project(len) <- Union(M; M1)"),
        ("(SELECT len FROM M) UNION ALL (SELECT len FROM M1)", "Union(Project(len) <- M; Project(len) <- M1)"),
        ("SELECT * FROM (SELECT len FROM M UNION ALL SELECT len FROM M1) WHERE len > 1", "Filter((len > 1)) <- Union(Project(len) <- M; Project(len) <- M1)"),
        ("SELECT * EXCEPT (other), item AS i FROM bids", "Project(item, bid_time, i=item) <- bids"),
        ("SELECT * EXCLUDE (bid_time, ITEM) FROM bids", "Project(other) <- bids"),
        # aggregates over windows
        ("SELECT count(*) FROM M [RANGE 1 MINUTE TUMBLING]", f"Project({W}, count(*)=$agg0) <- Aggregate( | count() | [RANGE 1 MINUTE TUMBLING]) <- M"),
        ("SELECT count(*), count(1), count(len), count(DISTINCT len) AS d FROM M [RANGE 1 MINUTE TUMBLING]",
         f"Project({W}, count(*)=$agg0, count(1)=$agg0, count(len)=$agg1, d=$agg2) <- Aggregate( | count(), count(len), count(distinct len) | [RANGE 1 MINUTE TUMBLING]) <- M"),
        ("SELECT srcIP, count(*) AS n FROM M [RANGE 1 MINUTE TUMBLING] WHERE len > 3 GROUP BY srcIP HAVING n > 5",
         f"Project({W}, srcIP, n=$agg0) <- Filter(($agg0 > 5)) <- Aggregate(srcIP | count() | [RANGE 1 MINUTE TUMBLING]) <- Filter((len > 3)) <- M"),
        ("SELECT sum(len) FILTER (WHERE len > 3) AS s FROM M [RANGE 1 MINUTE TUMBLING]",
         f"Project({W}, s=$agg0) <- Aggregate( | sum(len) where (len > 3) | [RANGE 1 MINUTE TUMBLING]) <- M"),
        ("SELECT sum(len) / count(*) + 1 AS s FROM M [RANGE 1 MINUTE TUMBLING]",
         f"Project({W}, s=((cast($agg0 AS DOUBLE) / cast($agg1 AS DOUBLE)) + 1.0)) <- Aggregate( | sum(len), count() | [RANGE 1 MINUTE TUMBLING]) <- M"),
        ("SELECT max(len), min(ts) FROM M [RANGE 1 MINUTE TUMBLING]",
         f"Project({W}, max(len)=$agg0, min(ts)=$agg1) <- Aggregate( | max(len), min(ts) | [RANGE 1 MINUTE TUMBLING]) <- M"),
        # where the window's columns come
        ("SELECT srcIP, window_end, count(*) AS n FROM M [RANGE 1 MINUTE TUMBLING] GROUP BY srcIP",
         "Project(window_start=$window_start, srcIP, window_end=$window_end, n=$agg0) <- Aggregate(srcIP | count() | [RANGE 1 MINUTE TUMBLING]) <- M"),
        ("SELECT count(*) AS n, window_end AS e, window_start AS s, window_id FROM M [RANGE 1 MINUTE TUMBLING]",
         "Project(n=$agg0, e=$window_end, s=$window_start, window_id=$window_id) <- Aggregate( | count() | [RANGE 1 MINUTE TUMBLING]) <- M"),
        ("SELECT count(*) AS n, window_end - INTERVAL 1 SECOND AS e FROM M [RANGE 1 MINUTE TUMBLING]",
         f"Project({W}, n=$agg0, e=($window_end - 0:00:01)) <- Aggregate( | count() | [RANGE 1 MINUTE TUMBLING]) <- M"),
        ("SELECT window, srcIP, count(*) AS n FROM M GROUP BY window(ts, '1 minute'), srcIP",
         f"Project({W}, srcIP, n=$agg0) <- Aggregate(srcIP | count() | [RANGE 1 MINUTE TUMBLING]) <- M"),
        ("SELECT count(*) AS n, window.end AS e, window.start FROM M GROUP BY window(ts, '1 minute')",
         "Project(n=$agg0, e=$window_end, start=$window_start) <- Aggregate($key0=True | count() | [RANGE 1 MINUTE TUMBLING]) <- M"),
        ("SELECT window_start, window_end, srcIP, count(*) AS n FROM TUMBLE(M, ts, INTERVAL '1' MINUTE) GROUP BY window_start, window_end, srcIP",
         f"Project({W}, srcIP, n=$agg0) <- Aggregate(srcIP | count() | [RANGE 1 MINUTE TUMBLING]) <- M"),
        ("SELECT count(*) AS n FROM M [RANGE 1 MINUTE TUMBLING] HAVING window_end > TIMESTAMP '2024-01-01' AND n > 1",
         f"Project({W}, n=$agg0) <- Filter((($window_end > cast('2024-01-01' AS TIMESTAMP)) AND ($agg0 > 1))) <- Aggregate( | count() | [RANGE 1 MINUTE TUMBLING]) <- M"),
        # groups
        ("SELECT len % 10 AS d, count(*) AS n FROM M [RANGE 1 MINUTE TUMBLING] GROUP BY len % 10",
         f"Project({W}, d, n=$agg0) <- Aggregate(d=(len % 10) | count() | [RANGE 1 MINUTE TUMBLING]) <- M"),
        ("SELECT len % 10 AS d, count(*) AS n FROM M [RANGE 1 MINUTE TUMBLING] GROUP BY d",
         f"Project({W}, d, n=$agg0) <- Aggregate(d=(len % 10) | count() | [RANGE 1 MINUTE TUMBLING]) <- M"),
        ("SELECT len % 10 AS d, count(*) AS n FROM M [RANGE 1 MINUTE TUMBLING] GROUP BY 1",
         f"Project({W}, d, n=$agg0) <- Aggregate(d=(len % 10) | count() | [RANGE 1 MINUTE TUMBLING]) <- M"),
        ("SELECT len % 10 AS d, srcIP, count(*) AS n FROM M [RANGE 1 MINUTE TUMBLING] GROUP BY ALL",
         f"Project({W}, d, srcIP, n=$agg0) <- Aggregate(d=(len % 10), srcIP | count() | [RANGE 1 MINUTE TUMBLING]) <- M"),
        ("SELECT (len % 10) * 2 AS d, max(len) + len % 10 AS m FROM M [RANGE 1 MINUTE TUMBLING] GROUP BY len % 10",
         f"Project({W}, d=($key0 * 2), m=($agg0 + $key0)) <- Aggregate($key0=(len % 10) | max(len) | [RANGE 1 MINUTE TUMBLING]) <- M"),
        ("SELECT count(*) AS n FROM M [RANGE 1 MINUTE TUMBLING] GROUP BY srcIP",
         f"Project({W}, n=$agg0) <- Aggregate(srcIP | count() | [RANGE 1 MINUTE TUMBLING]) <- M"),
        ("SELECT srcIP AS a, srcIP AS b, count(*) AS n FROM M [RANGE 1 MINUTE TUMBLING] GROUP BY M.srcip",
         f"Project({W}, a, b=a, n=$agg0) <- Aggregate(a=srcIP | count() | [RANGE 1 MINUTE TUMBLING]) <- M"),
        ("SELECT srcIP, count(*) + 1 AS n, n * 2 AS m FROM M [RANGE 1 MINUTE TUMBLING] GROUP BY srcIP, srcIP",
         f"Project({W}, srcIP, n=($agg0 + 1), m=(($agg0 + 1) * 2)) <- Aggregate(srcIP | count() | [RANGE 1 MINUTE TUMBLING]) <- M"),
        ("SELECT srcIP FROM M [RANGE 1 MINUTE TUMBLING] GROUP BY srcIP", f"Project({W}, srcIP) <- Aggregate(srcIP |  | [RANGE 1 MINUTE TUMBLING]) <- M"),
        ("SELECT DISTINCT srcIP, len FROM M [RANGE 1 MINUTE TUMBLING]", f"Project({W}, srcIP, len) <- Aggregate(srcIP, len |  | [RANGE 1 MINUTE TUMBLING]) <- M"),
        # aggregates of aggregates
        ("SELECT max(n) AS m FROM hourly [RANGE 1 DAY SLIDE 1 HOUR]", f"Project({W}, m=$agg0) <- Aggregate( | max(n) | [RANGE 1 DAY SLIDE 1 HOUR]) <- hourly"),
        ("SELECT srcIP, max(n) AS m FROM (SELECT srcIP, count(*) AS n FROM M [RANGE 1 MINUTE TUMBLING] GROUP BY srcIP) [RANGE 1 HOUR TUMBLING] GROUP BY srcIP",
         f"Project({W}, srcIP, m=$agg0) <- Aggregate(srcIP | max(n) | [RANGE 1 HOUR TUMBLING]) <- Project({W}, srcIP, n=$agg0) <- Aggregate(srcIP | count() | [RANGE 1 MINUTE TUMBLING]) <- M"),
        ("SELECT max(n) AS m FROM hourly [RANGE 1 DAY TUMBLING ON window_time]", f"Project({W}, m=$agg0) <- Aggregate( | max(n) | [RANGE 1 DAY TUMBLING]) <- hourly"),
        ("SELECT max(window_end) AS m FROM hourly [RANGE 1 DAY TUMBLING]", f"Project({W}, m=$agg0) <- Aggregate( | max(window_end) | [RANGE 1 DAY TUMBLING]) <- hourly"),
        ("SELECT window_end AS e, max(n) AS m FROM hourly [RANGE 1 DAY TUMBLING]",
         "Project(window_start=$window_start, e=$window_end, m=$agg0) <- Aggregate( | max(n) | [RANGE 1 DAY TUMBLING]) <- hourly"),
        # relations
        ("SELECT count(*) AS n FROM M", "Project(n=$agg0) <- Aggregate( | count() | [RANGE UNBOUNDED]) <- M"),
        ("SELECT srcIP, count(*) AS n FROM M [RANGE 5 MINUTES] GROUP BY srcIP", "Project(srcIP, n=$agg0) <- Aggregate(srcIP | count() | [RANGE 5 MINUTES]) <- M"),
        ("SELECT count(*) AS n FROM (SELECT * FROM M [RANGE 5 MINUTES] WHERE len > 1)", "Project(n=$agg0) <- Aggregate( | count() | [RANGE 5 MINUTES]) <- Filter((len > 1)) <- M"),
        ("SELECT count(*) AS n FROM (SELECT * FROM M [RANGE 5 MINUTES]) [RANGE 1 MINUTE]", "Project(n=$agg0) <- Aggregate( | count() | [RANGE 1 MINUTE]) <- M"),
        ("SELECT n FROM (SELECT count(*) AS n FROM M) WHERE n > 3", "Filter((n > 3)) <- Project(n=$agg0) <- Aggregate( | count() | [RANGE UNBOUNDED]) <- M"),
    ],
)  # fmt: skip
def test_a_query_is_bound_to_this_plan(plan: Callable[..., str], text: str, expected: str) -> None:
    assert plan(text) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("len = 1", "(len = 1)"), ("len <> 1", "(len <> 1)"), ("len != 1", "(len <> 1)"), ("len ≠ 1", "(len <> 1)"), ("len == 1", "(len = 1)"),
        ("len ≤ 1", "(len <= 1)"), ("len ≥ 1", "(len >= 1)"), ("len <=> NULL", "(len <=> NULL)"),
        ("len IS NULL", "is_null(len)"), ("len IS NOT NULL", "is_not_null(len)"), ("NOT len IS NULL", "is_not_null(len)"),
        ("len > 1 IS TRUE", "((len > 1) <=> True)"), ("len > 1 IS NOT FALSE", "not(((len > 1) <=> False))"),
        ("len IS DISTINCT FROM 1", "not((len <=> 1))"), ("len IS NOT DISTINCT FROM 1", "(len <=> 1)"),
        ("len IN (1, 2)", "in(len, 1, 2)"), ("len NOT IN (1)", "not(in(len, 1))"),
        ("srcIP LIKE 'a%'", "like(srcIP, 'a%')"), ("srcIP NOT LIKE 'a%'", "not(like(srcIP, 'a%'))"), ("srcIP ILIKE 'A'", "ilike(srcIP, 'A')"),
        ("srcIP RLIKE 'a'", "rlike(srcIP, 'a')"), ("srcIP NOT RLIKE 'a'", "not(rlike(srcIP, 'a'))"),
        ("srcIP || 'x'", "concat(srcIP, 'x')"), ("CAST(len AS BIGINT)", "cast(len AS BIGINT)"), ("len::STRING", "cast(len AS STRING)"), ("TRY_CAST(srcIP AS INT)", "try_cast(srcIP)"),
        ("CASE WHEN len > 1 THEN 'a' ELSE 'b' END", "case((len > 1), 'a', 'b')"),
        ("CASE len WHEN 1 THEN 'a' WHEN 2 THEN 'b' END", "case((len = 1), 'a', (len = 2), 'b', NULL)"),
        ("if(len > 1, 'a', 'b')", "case((len > 1), 'a', 'b')"), ("NVL(srcIP, 'x')", "coalesce(srcIP, 'x')"),
        ("EXTRACT(HOUR FROM ts)", "hour(ts)"), ("extract('minute' FROM ts)", "minute(ts)"), ("date_trunc('HOUR', ts)", "date_trunc('HOUR', ts)"),
        ("substring(srcIP, 1, 2)", "substring(srcIP, 1, 2)"), ("substring(srcIP FROM 1 FOR 2)", "substring(srcIP, 1, 2)"),
        ("position('a' IN srcIP)", "locate('a', srcIP, 1)"), ("trim(srcIP)", "trim(srcIP)"), ("trim(LEADING FROM srcIP)", "ltrim(srcIP)"),
        ("ts + INTERVAL '1' HOUR", "(ts + 1:00:00)"), ("ts - INTERVAL 90 SECONDS", "(ts - 0:01:30)"), ("INTERVAL '1' DAY '2' HOURS", "1 day, 2:00:00"),
        ("INTERVAL '1 hour 30 minutes'", "1:30:00"), ("INTERVAL -5 MINUTES", "-1 day, 23:55:00"),
        ("DATE '2024-01-02'", "cast('2024-01-02' AS DATE)"), ("TIMESTAMP '2024-01-02 03:04:05'", "cast('2024-01-02 03:04:05' AS TIMESTAMP)"),
        ("'it''s'", "'it's'"), (r"'a\nb'", "'a\nb'"), (r"r'a\nb'", r"'a\nb'"), ("'a' 'b'", "'ab'"), ('"text"', "'text'"), ("“curly”", "'curly'"), ("‘curly’", "'curly'"),
        ("1e3", "1000.0"), (".5", "0.5"), ("3L", "3"), ("2.5D", "2.5"), ("-2147483648", "-2147483648"),
        ("1 | 2 & 3 ^ 4", "(1 | ((2 & 3) ^ 4))"), ("1 & 2 + 3", "(1 & (2 + 3))"), ("1 + 2 = 3", "((1 + 2) = 3)"), ("len = 1 IS NULL", "is_null((len = 1))"),
        ("NOT len = 1 AND TRUE", "(not((len = 1)) AND True)"), ("NOT NOT TRUE", "not(not(True))"), ("10 - 4 - 3", "((10 - 4) - 3)"), ("-len % 3", "(neg(len) % 3)"),
        ("len BETWEEN 1 AND 2 AND TRUE", "(((len >= 1) AND (len <= 2)) AND True)"), ("len > 1 IN (TRUE)", "in((len > 1), True)"), ("1 + 2 || 'x'", "concat(cast((1 + 2) AS STRING), 'x')"),
        ("2 + 3 * 4", "(2 + (3 * 4))"), ("(2 + 3) * 4", "((2 + 3) * 4)"), ("7 DIV 2", "div(7, 2)"), ("NOT len > 1 AND len < 9", "(not((len > 1)) AND (len < 9))"),
        ("len > 1 OR len < 9 AND len = 5", "((len > 1) OR ((len < 9) AND (len = 5)))"), ("-len", "neg(len)"), ("+len", "len"), ("int(srcIP)", "cast(srcIP AS INT)"),
    ],
)  # fmt: skip
def test_an_expression_is_bound_to_this_call(plan: Callable[..., str], expression: str, expected: str) -> None:
    assert plan(f"SELECT {expression} AS x FROM M") == f"Project(x={expected}) <- M"


@pytest.mark.parametrize(
    ("text", "dtype"),
    [("3", pl.Int32()), ("3000000000", pl.Int64()), ("3L", pl.Int64()), ("3S", pl.Int16()), ("3Y", pl.Int8()), ("1.5", pl.Float64()), ("1.5F", pl.Float32()),
     ("-2147483648", pl.Int32()), ("TRUE", pl.Boolean()), ("NULL", pl.Null()), ("'x'", pl.String()), ("x'1f'", pl.Binary())],
)  # fmt: skip
def test_literals_have_these_types(query: Callable[..., BoundQuery], text: str, dtype: pl.DataType) -> None:
    made = query(f"SELECT {text} AS x FROM M").plan
    assert isinstance(made, Project)
    ((_, literal),) = made.items
    assert isinstance(literal, Literal) and literal.dtype == dtype


@pytest.mark.parametrize(
    ("text", "time", "keys", "relation"),
    [
        ("SELECT * FROM M", "ts", (), False),
        ("SELECT len, ts AS t FROM M", "t", (), False),
        ("SELECT len FROM M", None, (), False),
        ("SELECT user, current_time AS c FROM clicks", "c", (), False),
        ("SELECT srcIP, count(*) FROM M [RANGE 1 HOUR TUMBLING] GROUP BY srcIP", "window_end", ("srcIP",), False),
        ("SELECT srcIP AS s, window_end AS e, count(*) FROM M [RANGE 1 HOUR TUMBLING] GROUP BY srcIP, len", "e", ("s",), False),
        ("SELECT srcIP, ts, count(*) FROM M GROUP BY srcIP, ts", "ts", ("srcIP", "ts"), True),
        ("SELECT srcIP, count(*) FROM M GROUP BY srcIP", None, ("srcIP",), True),
        ("SELECT window_end, n, srcIP AS s FROM hourly", "window_end", ("s",), False),
        ("SELECT n FROM hourly", None, (), False),
        ("SELECT ts, len FROM M UNION ALL SELECT ts, len FROM M1", "ts", (), False),
        ("SELECT symbol, at FROM trades", "at", (), False),
    ],
)  # fmt: skip
def test_a_query_knows_its_time_and_key_columns(
    query: Callable[..., BoundQuery], text: str, time: str | None, keys: tuple[str, ...], relation: bool
) -> None:
    made = query(text)
    assert (made.time_column, made.key_columns, made.relation) == (time, keys, relation)


@pytest.mark.parametrize(
    ("clause", "emit"),
    [("", Emit()), ("EMIT FINAL", Emit("final")), ("EMIT CHANGES", Emit("changes")), ("EMIT EVERY 10 SECONDS", Emit("every", 10_000_000)),
     ("emit every interval '1' minute", Emit("every", 60_000_000)), ("EMIT EVERY '2 min'", Emit("every", 120_000_000))],
)  # fmt: skip
def test_emit_is_kept(query: Callable[..., BoundQuery], clause: str, emit: Emit) -> None:
    assert query(f"SELECT count(*) FROM M [RANGE 1 HOUR TUMBLING] {clause}").emit == emit


def test_the_query_keeps_its_text(query: Callable[..., BoundQuery]) -> None:
    assert query("  SELECT len -- note\n  FROM M ;").text == "SELECT len -- note\n  FROM M"


def test_a_derived_stream_renames_its_columns(catalog: Catalog) -> None:
    (statement,) = parse("CREATE STREAM d (k, n) AS SELECT len, srcIP FROM M")
    assert isinstance(statement, CreateStreamAs)
    made = bind_derived(statement, catalog)
    assert (made.name, str(made.schema)) == ("d", "(k INT, n STRING)")
    assert isinstance(made.query, BoundQuery) and made.query.text == "SELECT len, srcIP FROM M"


def test_column_names_are_unique_whatever_was_written(query: Callable[..., BoundQuery]) -> None:
    names = query(
        "SELECT window_end, max(n), window_end, max(n) FROM hourly [RANGE 1 DAY TUMBLING] GROUP BY hourly.window_end"
    ).plan.schema.names
    assert len({n.lower() for n in names}) == len(names)
