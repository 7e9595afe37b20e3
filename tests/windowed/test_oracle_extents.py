"""The kernel engine against the oracle: SELECT without aggregates over windows with SLIDE gives the rows of each extent."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import QueryError
from jupyter_stream.session.session import Session
from tests.oracle import strategies
from tests.oracle.aggregates import Aggregate
from tests.oracle.answer import answer
from tests.oracle.compare import assert_same_bag, in_columns
from tests.oracle.plain import PlainSelect, changes_of, plain
from tests.oracle.query import Query
from tests.oracle.running import Ran, assert_right, show
from tests.oracle.search import searching
from tests.tiers import slow, thinned
from tests.windowed import test_oracle_rows, test_oracle_sessions, test_oracle_tuples

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

WINDOWS = {
    "time": strategies.queries,
    "rows": test_oracle_rows.row_queries,
    "tuples": test_oracle_tuples.queries,
    "sessions": test_oracle_sessions.session_queries,
}


def some_columns(data: st.DataObject, query: Query, distinct: bool = False) -> PlainSelect:
    names = [name for name, _ in strategies.data_columns(query.stream)] + ([] if distinct else ["ts"])
    return plain(query, tuple(data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))), distinct)


@pytest.mark.parametrize(("kind", "distinct"), thinned(product(WINDOWS, [False, True])))
@searching
@given(st.data())
def test_the_rows_of_each_extent_are_those_of_the_oracle(kind: str, distinct: bool, data: st.DataObject) -> None:
    query = some_columns(data, data.draw(WINDOWS[kind]()), distinct)
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    assert_right(query, query.answer(), Ran(query, sizes), sizes)


@slow
@searching
@given(st.data())
def test_open_extents_are_shown_as_they_are(data: st.DataObject) -> None:
    query = some_columns(data, data.draw(strategies.queries(emit=True)))
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    expected, ran = query.answer(), Ran(query, sizes)
    assert_right(query, expected, ran, sizes)
    shown = [row for _, rows in expected.snapshots for row in in_columns(rows, query.columns)]
    assert_same_bag(ran.provisional, shown, query.columns, show(query, sizes))


@pytest.mark.parametrize("kind", ["ISTREAM", "DSTREAM"])
@pytest.mark.parametrize("distinct", [False, True], ids=["all", "distinct"])
@searching
@given(st.data())
def test_rows_enter_and_leave_from_extent_to_extent(distinct: bool, kind: str, data: st.DataObject) -> None:
    query = changes_of(some_columns(data, data.draw(strategies.queries()), distinct), kind)
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    assert_right(query, query.answer(), Ran(query, sizes), sizes)


@pytest.mark.parametrize("kind", ["ISTREAM", "DSTREAM"])
@searching
@given(st.data())
def test_answers_enter_and_leave_from_extent_to_extent(kind: str, data: st.DataObject) -> None:
    query = data.draw(strategies.queries(order_free=True))
    column, _ = strategies.data_columns(query.stream)[0]
    made = (Aggregate("count"), Aggregate("count", column, distinct=True))
    spelling = {"group by": "table function", "paper": "bracket"}.get(query.window.spelling, query.window.spelling)
    window = replace(query.window, spelling=spelling)
    changed = changes_of(replace(query, aggregates=made, having=None, window=window), kind)
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    assert_right(changed, changed.answer(), Ran(changed, sizes), sizes)


@searching
@given(st.data())
def test_distinct_answers_come_once_for_each_extent(data: st.DataObject) -> None:
    query = data.draw(strategies.queries(order_free=True))
    query = replace(query, aggregates=(Aggregate("count"),), having=None, emit_every=None)
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    with patch.object(Query, "sql", counts_only):
        got = Counter(Ran(query, sizes).rows)
    assert got == Counter(set(in_columns(answer(query).rows, ("window_start", "window_end", "a0"))))


def counts_only(query: Query) -> str:
    """The query's counts alone, each once."""
    text = SQL(query)
    return "SELECT DISTINCT " + text[text.index("count(") :]


SQL = Query.sql


ROWS = pl.DataFrame({"k": ["a", "b", None, "a"], "n": [1, 2, 3, 0], "ts": [1, 3, 7, 22]})
SLIDING = "[RANGE 10 MICROSECONDS SLIDE 5 MICROSECONDS]"


@pytest.mark.parametrize(
    ("query", "message", "column"),
    [
        (f"SELECT k, y FROM s {SLIDING}", "there is no column called y", 11),
        (f"SELECT count(*) OVER (ROWS 3 PRECEDING) FROM s {SLIDING}", "a query can't have a window in FROM and OVER", 22),
        ("SELECT ISTREAM k FROM s [SESSION 5 MICROSECONDS]",
         "ISTREAM compares each extent with the one before, and sessions share no rows", 8),
        (f"SELECT DSTREAM collect_list(k) AS ks FROM s {SLIDING}", "DSTREAM compares rows, and ks is a ARRAY<STRING>", 8),
        (f"SELECT k FROM s {SLIDING} LIMIT 2 EMIT CHANGES",
         "EMIT can't be used with LIMIT alone: the first rows to come never change", 70),
    ],
)  # fmt: skip
def test_mistakes_in_queries_over_extents(query: str, message: str, column: int) -> None:
    with pytest.raises(QueryError) as wrong:
        run(query)
    assert wrong.value.message == message and wrong.value.column == column


def test_distinct_groups_as_it_says() -> None:
    got = run(f"SELECT DISTINCT count(*) AS n FROM s {SLIDING} GROUP BY k, ts")
    assert got["n"].to_list() == [1, 1, 1, 1, 1]
    assert run("SELECT DISTINCT count(*) AS n FROM s GROUP BY k")["n"].sort().to_list() == [1, 2]


def test_distinct_takes_a_star_and_expressions_over_the_extent() -> None:
    assert run(f"SELECT DISTINCT * FROM s {SLIDING}").height == 8
    got = run(f"SELECT DISTINCT window_end - ts AS left FROM s {SLIDING} WHERE k = 'a'")
    assert sorted(got["left"]) == [3, 4, 8, 9]


def run(text: str) -> pl.DataFrame:
    with Session({"df": ROWS}) as session:
        session.execute("CREATE STREAM s (k STRING, n INT, ts BIGINT, WATERMARK FOR ts AS ts) SOURCE 'frame://df'")
        (query,) = session.execute(text)
        assert query.wait(200)
        return query.to_polars()


def test_columns_of_the_extent_come_where_they_are_named() -> None:
    got = run(f"SELECT k, window_end - ts AS left, window_end, window_id, window_time FROM s {SLIDING} WHERE n < 2")
    assert got.columns == ["window_start", "k", "left", "window_end", "window_id", "window_time"]
    assert sorted(got.rows()) == [
        (-5, "a", 4, 5, 1, 4), (0, "a", 9, 10, 2, 9), (15, "a", 3, 25, 5, 24), (20, "a", 8, 30, 6, 29)
    ]  # fmt: skip


def test_a_row_an_item_fails_on_fails_once() -> None:
    with Session({"df": ROWS}) as session:
        session.execute("CREATE STREAM s (k STRING, n INT, ts BIGINT, WATERMARK FOR ts AS ts) SOURCE 'frame://df'")
        (query,) = session.execute(f"SELECT 6 / n AS share FROM s {SLIDING}")
        assert query.wait(200)
        assert sorted(query.to_polars()["share"]) == [2.0, 2.0, 3.0, 3.0, 6.0, 6.0]
        assert query.errors.height == 1


def test_a_year_without_rows_costs_nothing() -> None:
    year = 365 * 24 * 3_600_000_000
    with Session({"df": pl.DataFrame({"n": [1, 2], "ts": [0, year]})}) as session:
        session.execute("CREATE STREAM s (n INT, ts BIGINT, WATERMARK FOR ts AS ts) SOURCE 'frame://df'")
        (query,) = session.execute(f"SELECT n FROM s {SLIDING}")
        assert query.wait(200)
        assert query.to_polars()["n"].to_list() == [1, 1, 2, 2]


def test_nothing_is_held_when_the_rows_have_passed() -> None:
    with Session({"df": ROWS}) as session:
        session.execute("CREATE STREAM s (k STRING, n INT, ts BIGINT, WATERMARK FOR ts AS ts) SOURCE 'frame://df'")
        (query,) = session.execute(f"SELECT * FROM s {SLIDING}")
        assert query.wait(200)
        assert [o["open_panes"] for o in query.stats["operators"] if "open_panes" in o] == [0]


def test_extents_are_a_stream_that_can_be_windowed_joined_and_sorted() -> None:
    assert run(f"SELECT count(*) AS n FROM (SELECT k FROM s {SLIDING}) [RANGE 10 MICROSECONDS TUMBLING]")[
        "n"
    ].to_list() == [5, 1, 2]
    assert run(f"SELECT n FROM s {SLIDING} ORDER BY n DESC LIMIT 1")["n"].to_list() == [2, 3, 3, 0, 0]
