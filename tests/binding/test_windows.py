"""Window clauses: the spellings that say the same, and what is wrong with those that say nothing."""

# ruff: noqa: E501  # tables of queries read best with one query to a line
from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.plan.logical import Aggregate, BoundQuery, Over, walk
from jupyter_stream.syntax import Select, parse
from jupyter_stream.syntax.query_syntax import SelectBody, StreamRef, WindowClause
from jupyter_stream.windows import LifetimeWindow, TimeWindow, TupleWindow

SECOND, MINUTE, HOUR = 1_000_000, 60_000_000, 3_600_000_000


def window_of(query: BoundQuery) -> object:
    return next(node.window for node in walk(query.plan) if isinstance(node, Aggregate))


SLIDING = TimeWindow(10 * MINUTE, MINUTE)
TUMBLING = TimeWindow(5 * MINUTE, 5 * MINUTE)


@pytest.mark.parametrize(
    ("clause", "window"),
    [
        ("[RANGE 10 MINUTES SLIDE 1 MINUTE]", SLIDING),
        ("[RANGE 10 minutes, SLIDE 1 minute, WA ts]", SLIDING),
        ("[range 10 min slide 60 sec]", SLIDING),
        ("[RANGE 10 MINUTES PRECEDING SLIDE 1 MINUTE]", SLIDING),
        ("[SLIDE 1 MINUTE RANGE 10 MINUTES]", SLIDING),
        ("[WATTR ts, RANGE 10 MINUTES, SLIDE 1 MINUTE]", SLIDING),
        ("[RANGE 10 MINUTES, RATTR ts, SLIDE 1 MINUTE]", SLIDING),
        ("[RANGE 10 MINUTES RATTR ts SLIDE 1 MINUTE SATTR ts]", SLIDING),
        ("[RANGE 10 MINUTES SLIDE 1 MINUTE ON ts]", SLIDING),
        ("[RANGE 10 MINUTES SLIDE 1 MINUTE ON TS]", SLIDING),
        ("[RANGE 10 MINUTES SLIDE 1 MINUTE ON M.ts]", SLIDING),
        ("[RANGE INTERVAL '10' MINUTE SLIDE INTERVAL 1 MINUTE]", SLIDING),
        ("[RANGE INTERVAL '10 minutes' SLIDE '1 minute']", SLIDING),
        ("[RANGE 600s SLIDE 60s]", SLIDING),
        ("[RANGE 5 MINUTES TUMBLING]", TUMBLING),
        ("[RANGE TUMBLING 5 minutes]", TUMBLING),
        ("[RANGE TUMBLING 5 minutes, WA ts]", TUMBLING),
        ("[RANGE 5 MINUTES SLIDE 5 MINUTES]", TUMBLING),
        ("[RANGE 6.4 SECONDS SLIDE 3.2 SECONDS]", TimeWindow(6_400_000, 3_200_000)),
        ("[RANGE 1 WEEK SLIDE 1 DAY]", TimeWindow(168 * HOUR, 24 * HOUR)),
        ("[RANGE 5 MICROSECONDS SLIDE 1 MILLISECOND]", TimeWindow(5, 1000)),
        ("[RANGE 1 HOUR TUMBLING ORIGIN '1970-01-01 00:30:00']", TimeWindow(HOUR, HOUR, 30 * MINUTE)),
        ("[RANGE 1 HOUR TUMBLING ORIGIN TIMESTAMP '1970-01-01 00:30:00']", TimeWindow(HOUR, HOUR, 30 * MINUTE)),
        ("[RANGE 1 DAY TUMBLING ORIGIN DATE '1970-01-02']", TimeWindow(24 * HOUR, 24 * HOUR, 24 * HOUR)),
        ("[RANGE ALL SLIDE 1 MINUTE]", TimeWindow(None, MINUTE)),
        ("[RANGE ALL, SLIDE 1 minute, WA ts]", TimeWindow(None, MINUTE)),
        ("[RANGE 5 MINUTES SLIDE 1 ROW]", TupleWindow(5 * MINUTE)),
        ("[RANGE 5 minutes, RATTR ts, SLIDE 1 row, SATTR row-num]", TupleWindow(5 * MINUTE)),
        ("[RANGE 5 MINUTES SLIDE 5, SATTR row_num]", TupleWindow(5 * MINUTE, 5)),
        ("[RANGE 5 minutes, RATTR ts, SLIDE 5 rows, SATTR rank(ts)]", TupleWindow(5 * MINUTE, 5, True)),
        ("[RANGE 5 MINUTES SLIDE 5 ROWS BY RANK]", TupleWindow(5 * MINUTE, 5, True)),
        ("[RANGE 5 MINUTES]", LifetimeWindow(5 * MINUTE)),
        ("[RANGE 1 DAY PRECEDING]", LifetimeWindow(24 * HOUR)),
        ("[RANGE UNBOUNDED]", LifetimeWindow(None)),
        ("[RANGE UNBOUNDED PRECEDING]", LifetimeWindow(None)),
        ("[UNBOUNDED]", LifetimeWindow(None)),
        ("[NOW]", LifetimeWindow(1)),
        ("", LifetimeWindow(None, written=False)),
    ],
)
def test_spellings_of_windows_over_time(query: Callable[..., BoundQuery], clause: str, window: object) -> None:
    assert window_of(query(f"SELECT count(*) FROM M {clause}")) == window
    if clause:
        assert window_of(query(f"SELECT count(*) {clause} FROM M")) == window
        assert window_of(query(f"SELECT count(*) FROM M AS M {clause}")) == window
        assert window_of(query(f"SELECT count(*) FROM M {clause} AS m")) == window


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("SELECT count(*) FROM TUMBLE(M, ts, INTERVAL '5' MINUTE)", TimeWindow(5 * MINUTE, 5 * MINUTE, starts=True)),
        ("SELECT count(*) FROM TABLE(TUMBLE(TABLE M, DESCRIPTOR(ts), INTERVAL '5' MINUTES))", TimeWindow(5 * MINUTE, 5 * MINUTE, starts=True)),
        ("SELECT count(*) FROM HOP(M, ts, INTERVAL '1' MINUTE, INTERVAL '5' MINUTE) AS m", TimeWindow(5 * MINUTE, MINUTE, starts=True)),
        ("SELECT count(*) FROM HOP((SELECT ts FROM M), ts, '1 minute', '5 minutes')", TimeWindow(5 * MINUTE, MINUTE, starts=True)),
        ("SELECT count(*) FROM M GROUP BY window(ts, '5 minutes')", TimeWindow(5 * MINUTE, 5 * MINUTE, starts=True)),
        ("SELECT count(*) FROM M GROUP BY window(ts, '5 minutes', '1 minute')", TimeWindow(5 * MINUTE, MINUTE, starts=True)),
        ("SELECT count(*) FROM M GROUP BY window(ts, '5 minutes', '1 minute', '10 seconds')", TimeWindow(5 * MINUTE, MINUTE, 10 * SECOND, starts=True)),
        ("SELECT count(*) FROM M GROUP BY window(M.ts, INTERVAL 5 MINUTES)", TimeWindow(5 * MINUTE, 5 * MINUTE, starts=True)),
        ("SELECT count(*) FROM M GROUP BY TUMBLE(ts, INTERVAL '5' MINUTE), srcIP", TimeWindow(5 * MINUTE, 5 * MINUTE, starts=True)),
        ("SELECT count(*) FROM M GROUP BY HOP(ts, INTERVAL '1' MINUTE, INTERVAL '5' MINUTE)", TimeWindow(5 * MINUTE, MINUTE, starts=True)),
    ],
)  # fmt: skip
def test_windows_in_the_ways_of_flink_and_spark(query: Callable[..., BoundQuery], text: str, window: object) -> None:
    assert window_of(query(text)) == window


def test_a_window_on_another_column_names_it(query: Callable[..., BoundQuery]) -> None:
    assert window_of(query("SELECT count(*) FROM bids [RANGE 1 HOUR TUMBLING ON Other]")) == TimeWindow(
        HOUR, HOUR, on="other"
    )


def test_a_window_may_name_the_time_a_select_left_out(query: Callable[..., BoundQuery]) -> None:
    assert window_of(query("SELECT max(x) FROM (SELECT len AS x FROM M) [RANGE 1 HOUR TUMBLING ON ts]")) == TimeWindow(
        HOUR, HOUR
    )
    assert window_of(
        query("SELECT max(x) FROM (SELECT len AS x, ts AS t FROM M) [RANGE 1 HOUR TUMBLING ON t]")
    ) == TimeWindow(HOUR, HOUR)


def test_integer_times_give_integer_window_columns(query: Callable[..., BoundQuery]) -> None:
    made = query("SELECT symbol, count(*) AS n FROM trades [RANGE 10 SECONDS TUMBLING] GROUP BY symbol")
    assert str(made.plan.schema) == "(window_start BIGINT, window_end BIGINT, symbol STRING, n BIGINT)"
    other = query("SELECT count(*) AS n FROM bids [RANGE 10 SECONDS TUMBLING ON item]")
    assert str(other.plan.schema) == "(window_start BIGINT, window_end BIGINT, n BIGINT)"
    assert query("SELECT count(*) FROM M [RANGE 1 HOUR TUMBLING]").plan.schema.fields[0].dtype == TIMESTAMP


def clause_of(text: str) -> WindowClause:
    (statement,) = parse(f"SELECT a FROM s {text}")
    assert isinstance(statement, Select) and isinstance(statement.body, SelectBody)
    assert isinstance(statement.body.source, StreamRef) and statement.body.source.window is not None
    return statement.body.source.window


def amount(a: object) -> tuple[str, int] | None:
    return None if a is None else (a.kind, a.value)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[ROWS 10]", {"range": ("rows", 10)}),
        ("[ROWS 10 PRECEDING]", {"range": ("rows", 10)}),
        ("[ROWS 100 SLIDE 10]", {"range": ("rows", 100), "slide": ("rows", 10)}),
        ("[ROWS 100 SLIDE 10 ROWS]", {"range": ("rows", 100), "slide": ("rows", 10)}),
        ("[ROWS 100 TUMBLING]", {"range": ("rows", 100), "slide": ("rows", 100)}),
        ("[RANGE 1000 rows, SLIDE 10 rows, WA row-num]", {"range": ("rows", 1000), "slide": ("rows", 10)}),
        ("[RANGE 1000, SLIDE 10, WA row-num]", {"range": ("rows", 1000), "slide": ("rows", 10)}),
        ("[RANGE 1000 rows, SLIDE 10 rows, WA row-num, PA srcIP]", {"range": ("rows", 1000), "slide": ("rows", 10), "partition": ["srcIP"]}),
        ("[PARTITION BY S.a, b ROWS 10 PRECEDING WHERE x = ‘y’]", {"range": ("rows", 10), "partition": ["a", "b"], "where": True}),
        ("[RANGE ALL SLIDE 3 ROWS]", {"slide": ("rows", 3)}),
        ("[SESSION 30 MINUTES]", {"session": ("time", 30 * MINUTE)}),
        ("[SESSION 30 MINUTES PARTITION BY a]", {"session": ("time", 30 * MINUTE), "partition": ["a"]}),
    ],
)  # fmt: skip
def test_parts_of_a_window_are_read(text: str, expected: dict[str, object]) -> None:
    clause = clause_of(text)
    got: dict[str, object] = {
        name: amount(getattr(clause, name)) for name in ("range", "slide", "session") if getattr(clause, name)
    }
    if clause.partition:
        got["partition"] = [column.name.text for column in clause.partition]
    if clause.where is not None:
        got["where"] = True
    if clause.on is not None:
        got["on"] = clause.on.text
    if clause.by_rank:
        got["by_rank"] = True
    assert got == expected
    assert clause.slide_on is None


@pytest.mark.parametrize("text", ["[RANGE ALL SLIDE 3 ROWS]"])
def test_windows_that_are_read_and_not_yet_run(mistake: Callable[..., QueryError], text: str) -> None:
    assert isinstance(mistake(f"SELECT count(*) FROM M {text}"), UnsupportedError)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("count(*) FROM M [ROWS 100 SLIDE 10]", " | count() | [ROWS 100 SLIDE 10]) <- M"),
        ("count(*) FROM M [ROWS 100 TUMBLING]", " | count() | [ROWS 100 SLIDE 100]) <- M"),
        ("count(*) [RANGE 9, SLIDE 3, WA row-num] FROM M", " | count() | [ROWS 9 SLIDE 3]) <- M"),
        (
            "max(len) FROM M [PARTITION BY M.srcIP, destIP ROWS 9 SLIDE 3 WHERE len > 5]",
            "srcIP, destIP | max(len) | [PARTITION BY srcIP, destIP ROWS 9 SLIDE 3]) <- Filter((len > 5)) <- M",
        ),
        (
            "max(len) [PARTITION BY srcIP ROWS 9 SLIDE 3] FROM M GROUP BY destIP",
            "destIP, srcIP | max(len) | [PARTITION BY srcIP ROWS 9 SLIDE 3]) <- M",
        ),
        ("count(*) FROM M [SESSION 30 MINUTES]", " | count() | [SESSION 30 MINUTES]) <- M"),
        (
            "count(*) FROM M [SESSION 30 MINUTES] GROUP BY srcIP",
            "srcIP | count() | [SESSION 30 MINUTES PARTITION BY srcIP]) <- M",
        ),
        (
            "count(*) FROM M [SESSION 30 MINUTES PARTITION BY srcIP] GROUP BY destIP",
            "destIP, srcIP | count() | [SESSION 30 MINUTES PARTITION BY srcIP]) <- M",
        ),
        ("count(*) FROM SESSION(M, ts, INTERVAL '5' MINUTE)", " | count() | [SESSION 5 MINUTES]) <- M"),
        (
            "count(*) FROM M GROUP BY session_window(ts, '5 minutes'), srcIP",
            "srcIP | count() | [SESSION 5 MINUTES PARTITION BY srcIP]) <- M",
        ),
        ("count(*) FROM bids [SESSION 5 MINUTES ON other]", " | count() | [SESSION 5 MINUTES ON other]) <- bids"),
    ],
)
def test_windows_of_rows_and_sessions(plan: Callable[..., str], text: str, expected: str) -> None:
    assert plan(f"SELECT {text}").split("Aggregate(")[1] == expected


def test_bounds_of_windows_of_rows_are_numbers_and_their_time_is_a_time(query: Callable[..., BoundQuery]) -> None:
    schema = query("SELECT window_start, window_end, window_time, count(*) FROM M [ROWS 9 SLIDE 3]").plan.schema
    assert [f.dtype for f in schema] == [pl.Int64(), pl.Int64(), TIMESTAMP, pl.Int64()]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[PARTITION BY srcIpp ROWS 9 SLIDE 3]", "there is no column called srcIpp to partition by"),
        ("[PARTITION BY x.srcIP ROWS 9 SLIDE 3]", "there is no column called x.srcIP to partition by"),
        ("[SESSION 5 MINUTES PARTITION BY nobody]", "there is no column called nobody to partition by"),
        (
            "[ROWS 9 SLIDE 3 ON ts]",
            "a window of rows can't have ON or ORDER BY: it counts rows in the order they arrive",
        ),
        ("[SESSION 5 MINUTES ON srcIP]", "srcIP is STRING, and a window needs a time"),
        ("[SESSION 5 MINUTES ON nothing]", "there is no column called nothing to window on"),
        ("[PARTITION BY srcIP ROWS 9 SLIDE 3 WHERE count(*) > 3]", "an aggregate can't be used in a window's WHERE"),
    ],
)
def test_mistakes_in_windows_of_rows_and_sessions(mistake: Callable[..., QueryError], text: str, message: str) -> None:
    error = mistake(f"SELECT count(*) FROM M {text}")
    assert not isinstance(error, UnsupportedError)
    assert message in error.message


@pytest.mark.parametrize(
    ("over", "shown"),
    [
        ("(ROWS 10 PRECEDING)", "OVER (ROWS 10 PRECEDING)"),
        ("(PARTITION BY srcIP ROWS 49 PRECEDING SLIDE 10)", "OVER (PARTITION BY srcIP ROWS 49 PRECEDING SLIDE 10)"),
        (
            "(PARTITION BY srcIP, len RANGE UNBOUNDED PRECEDING)",
            "OVER (PARTITION BY srcIP, len RANGE UNBOUNDED PRECEDING)",
        ),
        ("(RANGE 5 SECONDS PRECEDING ACTIVE EXPIRATION)", "OVER (RANGE 5 SECONDS PRECEDING ACTIVE EXPIRATION)"),
        ("(ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)", "OVER (ROWS 10 PRECEDING)"),
        (
            "(PARTITION BY srcIP ORDER BY ts RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW)",
            "OVER (PARTITION BY srcIP RANGE 1 HOUR PRECEDING)",
        ),
        ("(RANGE 5 MINUTES PRECEDING SLIDE 1 MINUTE)", "OVER (RANGE 5 MINUTES PRECEDING SLIDE 1 MINUTE)"),
        ("()", "OVER (RANGE UNBOUNDED PRECEDING)"),
        ("(PARTITION BY srcIP ORDER BY ts)", "OVER (PARTITION BY srcIP RANGE UNBOUNDED PRECEDING)"),
    ],
)
def test_over_is_bound_to_its_window(query: Callable[..., BoundQuery], over: str, shown: str) -> None:
    plan = query(f"SELECT sum(len) OVER {over} FROM M").plan
    (below,) = plan.inputs
    assert isinstance(below, Over) and str(below.window) == shown


@pytest.mark.parametrize(
    ("items", "rest", "message"),
    [
        ("sum(len) OVER (ROWS 1 PRECEDING), count(*)", "", "len is neither grouped nor aggregated"),
        (
            "sum(len) OVER (ORDER BY len ROWS 1 PRECEDING SLIDE 2)",
            "",
            "OVER can only be ordered by the time column of the stream, not by len",
        ),
        (
            "sum(len) OVER (ROWS 1 PRECEDING SLIDE 2), rank() OVER (ORDER BY len)",
            "",
            "go with a stream's own time only",
        ),
        ("sum(len) OVER (ROWS 1 PRECEDING SLIDE 2), max(len) OVER ()", "", "all windows of a query must be the same"),
        ("sum(len) OVER (ROWS 1 PRECEDING ACTIVE EXPIRATION)", "", "ACTIVE EXPIRATION needs a length of time"),
        ("sum(len) OVER (RANGE 1 DAY PRECEDING SLIDE 2 ACTIVE EXPIRATION)", "", "both SLIDE and ACTIVE EXPIRATION"),
        ("sum(len) OVER (PARTITION BY src)", "", "there is no column called src to partition by"),
        ("sum(len) OVER (ROWS 1 PRECEDING)", "[RANGE 5 SECONDS]", "a query can't have a window in FROM and OVER"),
        ("collect_list(len) OVER ()", "", "collect_list keeps every row"),
        ("len", "WHERE sum(len) OVER () > 2", "an aggregate can't be used in WHERE"),
        ("sum(len) OVER (SESSION 5 MINUTES)", "", "OVER takes ROWS or RANGE"),
        ("sum(len) OVER (RANGE ALL SLIDE 1 MINUTE)", "", "OVER takes ROWS or RANGE"),
        ("sum(len) OVER (ROWS 5 FOLLOWING)", "", "this frame ends before it begins"),
        ("window(ts, '5 minutes')", "", "there is no function called window"),
        ("abs(len) [RANGE 5 MINUTES]", "", "ORDER BY, FILTER and windows go with aggregates only, and abs is not one"),
    ],
)
def test_a_wrong_over_says_so(mistake: Callable[..., QueryError], items: str, rest: str, message: str) -> None:
    assert message in mistake(f"SELECT {items} FROM M {rest}").message


@pytest.mark.parametrize(
    ("clause", "at", "message", "hint"),
    [
        ("[RANGE 15 HOURS SLIDE 0 MINUTES]", "0 MINUTES", "this must be more than zero", None),
        ("[RANGE 10 MINUTES SLIDE -1 MINUTE]", "-1 MINUTE", "this must be more than zero", None),
        ("[RANGE '-10 minutes' SLIDE 1 MINUTE]", "'-10 minutes'", "this must be more than zero", None),
        ("[ROWS 0]", "0", "this must be more than zero", None),
        ("[ROWS 10 SLIDE 0]", "0]", "this must be more than zero", None),
        ("[ROWS 99999999999999999999 SLIDE 1]", "99999999999999999999", "this number of rows is too large", "RANGE ALL"),
        ("[ROWS 10 SLIDE 2 ORIGIN '2024-01-01']", "ORIGIN", "ORIGIN needs a SLIDE over time", None),
        ("[RANGE 1 MINUTE SLIDE 1.5 ROWS]", "1.5 ROWS", "1.5 is not a whole number of rows", None),
        ("[RANGE 10 SLIDE 1]", "10", "RANGE 10 has no unit", "Write RANGE 10 MINUTES for a length of time, ROWS 10"),
        ("[RANGE 10 MINUTES SLIDE 1]", "1]", "SLIDE 1 has no unit", "SLIDE 1 SECONDS"),
        ("[RANGE 10 MINUTS SLIDE 1 MINUTE]", "MINUTS", "MINUTS is not a unit of time", "Did you mean minutes?"),
        ("[RANGE 1 MONTH TUMBLING]", "MONTH", "months, quarters and years differ in length", "30 DAYS"),
        ("[RANGE 'soon' TUMBLING]", "'soon'", "'soon' is not a length of time", "5 minutes"),
        ("[ROWS 10 MINUTES]", "10 MINUTES", "ROWS counts rows, and this is a length of time", "Did you mean RANGE 10 MINUTES?"),
        ("[ROWS 2.5]", "2.5", "this is not a whole number of rows", None),
        ("[ROWS 10 SLIDE 1 MINUTE]", "1 MINUTE", "the SLIDE of a window of rows must be a number of rows", "SLIDE 10 ROWS"),
        ("[SESSION 5 MINUTES SLIDE 1 MINUTE]", "SLIDE 1 MINUTE", "a session can't have a SLIDE: it ends when its gap has passed", "[SESSION 30 MINUTES]"),
        ("[SESSION 5 MINUTES RANGE 1 MINUTE]", "RANGE 1 MINUTE", "a session takes a gap and nothing else", None),
        ("[SESSION 5 ROWS]", "5 ROWS", "the gap of a session must be a length of time", None),
        ("[SESSION 5]", "5]", "5 has no unit", None),
        ("[RANGE 1 MINUTE SLIDE 2 ROWS BY RANKS]", "BY RANKS", "BY isn't expected in a window", "SLIDE 10 ROWS BY RANK"),
        ("RANGE 5 MINUTES TUMBLING", "RANGE 5", "a window must be in square brackets", "Write [RANGE ...] after the stream's name."),
        ("WHERE len > 1 [RANGE 5 MINUTES TUMBLING]", "[RANGE 5", "[ isn't expected here", "Write a window after"),
        ("GROUP BY window(ts)", "window(ts)", "window takes 1 to 3 lengths of time after the column", "Write window(ts, '10 minutes')."),
        ("[RANGE ALL]", "[RANGE ALL]", "RANGE ALL needs a SLIDE", "[RANGE ALL SLIDE 1 MINUTE]"),
        ("[RANGE UNBOUNDED SLIDE 1 MINUTE]", "SLIDE", "RANGE UNBOUNDED can't have a SLIDE", "RANGE ALL"),
        ("[NOW SLIDE 1 MINUTE]", "SLIDE", "[NOW] can't have a SLIDE", None),
        ("[SLIDE 1 MINUTE]", "[SLIDE", "RANGE is missing in this window", "[RANGE 10 MINUTES SLIDE 1 MINUTE]"),
        ("[ON ts]", "[ON", "RANGE or ROWS is missing in this window", None),
        ("[RANGE 10 MINUTES RANGE 5 MINUTES]", "RANGE 5", "RANGE appears twice in this window", None),
        ("[RANGE 10 MINUTES SLIDE 1 MINUTE TUMBLING]", "SLIDE 1 MINUTE", "a tumbling window has no other SLIDE than its range", None),
        ("[TUMBLING 5 MINUTES]", "TUMBLING", "RANGE is missing before TUMBLING", "[RANGE 5 MINUTES TUMBLING]"),
        ("[RANGE 5 MINUTES TUMBLNG]", "TUMBLNG", "TUMBLNG isn't expected in a window", "Did you mean TUMBLING?"),
        ("[RANGE 10 MINUTES SLIDE 1 MINUTE ON tss]", "tss", "there is no column called tss to window on", "Did you mean ts?"),
        ("[RANGE 10 MINUTES SLIDE 1 MINUTE ON srcIP]", "srcIP", "srcIP is STRING, and a window needs a time", "TIMESTAMP"),
        ("[RANGE 10 MINUTES SLIDE 1 MINUTE ON row_num]", "row_num", "a length of time can't be measured on row_num", "ROWS n"),
        ("[RANGE 10 MINUTES TUMBLING ORIGIN 'noon']", "'noon'", "ORIGIN takes a timestamp", "2024-01-01"),
        ("[RANGE 10 MINUTES ORIGIN '2024-01-01']", "ORIGIN", "ORIGIN needs a SLIDE over time", None),
        ("[RANGE 10 MINUTES WHERE len > 1]", "WHERE", "WHERE in a window needs PARTITION BY", "the WHERE of the query"),
        ("[PARTITION BY srcIP RANGE 10 MINUTES]", "PARTITION", "PARTITION BY in a window needs ROWS or SESSION", "GROUP BY"),
        ("[RANGE 10 MINUTES SLIDE 1 MINUTE BY RANK]", "[RANGE", "BY RANK needs SLIDE n ROWS", None),
        ("[RANGE 10 MINUTES SLIDE 5 ROWS SATTR len]", "len", "SLIDE counts rows here, and len is not a number of rows", "rank(len)"),
        ("[10 MINUTES]", None, None, None),
        ("[RANGE]", "]", "a length of time or a number of rows is missing here", "RANGE 10 MINUTES"),
        ("[RANGE 99999999999999 WEEKS]", "99999999999999 WEEKS", "this length of time is too long", None),
        ("[RANGE 5 MINUTES ACTIVE EXPIRATION]", "ACTIVE", "ACTIVE EXPIRATION can only be used in OVER", "OVER"),
        ("[RANGE 5 MINUTES] [RANGE 6 MINUTES]", "[RANGE 6", "a stream can have only one window", "put one into a subquery"),
        ("[SESSION]", "]", "the gap of the session is missing here", "[SESSION 30 MINUTES]"),
        ("[SESSION 5 MINUTES TUMBLING]", "TUMBLING", "a session can't have a SLIDE: it ends when its gap has passed", "[SESSION 30 MINUTES]"),
        ("[RANGE 5 MINUTES ON]", "]", "the name of a column is missing here", "Name a time column"),
        ("[RANGE 5 MINUTES", "MINUTES", "] is missing here: the statement ends here", "Close the window with ]."),
        ("[RANGE 5 MINUTES)", ")", ") isn't expected in a window", "Close the window with ]."),
        ("[RANGE 5 MINUTES AS w]", "AS", "AS isn't expected in a window", "Close the window with ]"),
        ("(RANGE 5 MINUTES)", "(", "a window must be in square brackets", "Write M [RANGE ...]."),
        ("{RANGE 5 MINUTES}", "{", "{ isn't expected here", "square brackets"),
        ("[PARTITION BY srcIP]", "[", "ROWS is missing in this window", "[PARTITION BY k ROWS 100]"),
        ("[PARTITION BY ROWS 3]", "ROWS", "the name of a column is missing here", "[PARTITION BY k ROWS 100]"),
        ("[PARTITION srcIP ROWS 3]", "PARTITION", "PARTITION isn't expected in a window", "Did you mean PARTITION BY?"),
        ("[PARTITION BY len + 1 ROWS 3]", "+", "+ isn't expected in a window", "compute the value before"),
        ("[PARTITION BY src ROWS 3]", "src", "there is no column called src to partition by", "Did you mean srcIP?"),
        ("[PARTITION BY srcIP ROWS 3 WHERE]", "]", "a condition is missing here", "WHERE x > 0"),
        ("[PARTITION BY srcIP ROWS 3 WHERE count(*) > 1]", "count", "an aggregate can't be used in a window's WHERE", "single rows"),
        ("[PARTITION BY srcIP ROWS 3 WHERE len]", "len", "a window's WHERE takes a condition, and this is INT", "x > 0"),
        ("[GROUP BY srcIP ROWS 3]", "GROUP", "GROUP isn't expected in a window", "PARTITION BY"),
        ("[ROWS ALL]", "ALL", "a number of rows is missing here", "RANGE UNBOUNDED"),
        ("[ROWS -3]", "-3", "this must be more than zero", None),
        ("[ROWS 10 SLIDE 2.5]", "2.5", "this is not a whole number of rows", "SLIDE 10 ROWS"),
        ("[LANDMARK SLIDE 1 MINUTE]", "LANDMARK", "LANDMARK isn't expected in a window", "[RANGE ALL SLIDE 1 MINUTE]"),
        ("[LAST 5 MINUTES]", "LAST", "LAST isn't expected in a window", "[RANGE 10 MINUTES]"),
        ("[SIZE 5 MINUTES ADVANCE BY 1 MINUTE]", "SIZE", "SIZE isn't expected in a window", "RANGE for a length of time"),
        ("[RANGE 5 MINUTES EVERY 1 MINUTE]", "EVERY", "EVERY isn't expected in a window", "Write SLIDE"),
        ("[RANGE 5 MINUTES FOLLOWING]", "FOLLOWING", "FOLLOWING isn't expected in a window", "looks back"),
        ("[RAGNE 5 MINUTES]", "RAGNE", "RAGNE isn't expected in a window", "Did you mean RANGE?"),
        ("[RANGE 1 HOUR 30 MINUTES TUMBLING]", "30", "RANGE, ROWS or SLIDE is missing before this", "RANGE '1 hour 30 minutes'"),
        ("[RANGE 5 + 5 MINUTES]", "+", "+ isn't expected in a window", "single numbers"),
        ("[RANGE len MINUTES]", "len", "a length of time or a number of rows is missing here", None),
        ("[RANGE 5 YEARS TUMBLING]", "YEARS", "months, quarters and years differ in length", "DAYS"),
        ("[RANGE 5 MINUTES ORIGIN '2024-01-01']", "ORIGIN", "ORIGIN needs a SLIDE over time", "[RANGE 1 DAY SLIDE 1 HOUR ORIGIN"),
        ("[ROWS 5 SLIDE 5 BY RANK]", "[", "a window of ROWS by rank isn't available in this version", "Remove BY RANK"),
        ("[RANGE ALL SLIDE 2 ROWS]", "[", "RANGE ALL with SLIDE by rows isn't available in this version", "OVER (RANGE UNBOUNDED"),
        ("[]", "[", "RANGE or ROWS is missing in this window", "[ROWS 100 SLIDE 10]"),
        ("[NOW 5]", "5", "RANGE, ROWS or SLIDE is missing before this", None),
        ("[RANGE 5 MINUTES ROWS 3]", "ROWS", "ROWS appears twice in this window", None),
        ("[RANGE 1 MINUTE] WHERE window_end > ts", "window_end", "there is no column called window_end", "needs a window with SLIDE"),
        ("GROUP BY window(ts, '0 seconds')", "'0 seconds'", "this must be more than zero", None),
        ("WINDOW w (ROWS 3 PRECEDING)", "WINDOW", "a window and its name are missing here", "WINDOW w AS (PARTITION BY k"),
    ],
)  # fmt: skip
def test_a_wrong_window_says_what_to_write(
    mistake: Callable[..., QueryError], clause: str, at: str | None, message: str | None, hint: str | None
) -> None:
    text = f"SELECT count(*)\nFROM M {clause}"
    error = mistake(text)
    if message is not None:
        assert error.message == message
    assert error.line == 2
    if at is not None:
        assert error.column == 8 + clause.index(at)
    assert error.hint is not None
    assert (hint or "") in error.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT count(*) [RANGE 1 MINUTE TUMBLING] FROM M [RANGE 5 MINUTES]", "this query has two windows"),
        (
            "SELECT count(*) [RANGE 1 MINUTE TUMBLING], max(len) [RANGE 2 MINUTES] FROM M",
            "give answers at different times",
        ),
        (
            "SELECT count(*) [RANGE 1 MINUTE SLIDE 1 MINUTE], max(len) [ROWS 10 SLIDE 5] FROM M",
            "give answers at different times",
        ),
        (
            "SELECT count(*) [SESSION 1 MINUTE], max(len) [SESSION 2 MINUTES] FROM M",
            "a session of the longer gap holds several of the shorter one",
        ),
        (
            "SELECT count(*) [RANGE 1 MINUTE SLIDE 1 ROW], max(len) [RANGE 2 MINUTES SLIDE 2 ROWS] FROM M",
            "don't end with the same rows",
        ),
        (
            "SELECT count(*) [PARTITION BY srcIP ROWS 2 WHERE len > 3], max(len) [RANGE 1 MINUTE] FROM M",
            "one of several windows can't have a WHERE of its own",
        ),
        (
            "SELECT count(*) [RANGE 1 MINUTE TUMBLING], max(len) [RANGE 2 MINUTES TUMBLING] FROM M EMIT CHANGES",
            "EMIT isn't available over windows with different SLIDEs",
        ),
        (
            "SELECT DSTREAM count(*) [RANGE 1 MINUTE TUMBLING], max(len) [RANGE 2 MINUTES TUMBLING] FROM M",
            "DSTREAM isn't available over windows with different SLIDEs",
        ),
        (
            "SELECT count(*), min(len) [RANGE 2 MINUTES SLIDE 1 MINUTE], max(len) [RANGE 1 MINUTE TUMBLING] FROM M",
            "count doesn't say which one it uses",
        ),
        (
            "SELECT count(*) [RANGE 1 MINUTE TUMBLING] FROM M GROUP BY window(ts, '5 minutes')",
            "this query has two windows",
        ),
        ("SELECT count(*) FROM TUMBLE(M, ts)", "TUMBLE takes 1 length of time"),
        ("SELECT count(*) FROM HOP(M, ts, INTERVAL '1' MINUTE)", "HOP takes 2 lengths of time"),
        ("SELECT count(*) FROM TUMBEL(M, ts, INTERVAL '1' MINUTE)", "there is no function called TUMBEL in FROM"),
        ("SELECT count(*) FROM M GROUP BY window('5 minutes')", "window takes the time column first"),
        ("SELECT count(*) FROM M GROUP BY window(ts, 5)", "this is not a length of time"),
        ("SELECT count(*) FROM M GROUP BY session_window(ts, 'soon')", "this is not a length of time"),
        (
            "SELECT count(*) FROM M [RANGE 1 HOUR] UNION M1 [RANGE 2 HOURS]",
            "the parts of a union have different windows",
        ),
        ("SELECT len [RANGE 1 HOUR] FROM M", "[ isn't expected here"),
    ],
)
def test_windows_in_wrong_places(mistake: Callable[..., QueryError], text: str, message: str) -> None:
    assert message in mistake(text).message


@pytest.mark.parametrize("aggregate", ["collect_list(len)", "string_agg(srcIP, ',')"])
@pytest.mark.parametrize("window", ["", " [RANGE UNBOUNDED]"])
def test_an_aggregate_that_keeps_every_row_needs_a_window_that_lets_them_go(
    mistake: Callable[..., QueryError], aggregate: str, window: str
) -> None:
    error = mistake(f"SELECT {aggregate} FROM M{window}")
    assert error.column == 8
    assert "keeps every row" in error.message
    assert "[RANGE 10 MINUTES SLIDE 1 MINUTE]" in (error.hint or "")


def test_the_same_window_behind_several_aggregates_is_one(query: Callable[..., BoundQuery]) -> None:
    made = query("SELECT count(*) [RANGE 1 MINUTE TUMBLING], max(len) [RANGE TUMBLING 60 SECONDS] FROM M")
    assert window_of(made) == TimeWindow(MINUTE, MINUTE)
