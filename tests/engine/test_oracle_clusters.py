"""Streams whose rows come in clusters against the oracle: values final one by one, rows that break the constraint told of."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jupyter_stream.engine import feed
from jupyter_stream.session.session import Session
from tests.oracle import strategies
from tests.oracle.answer import answer
from tests.oracle.progress import Clusters
from tests.oracle.query import Answer, Query
from tests.oracle.running import Ran, assert_right
from tests.oracle.search import searching
from tests.oracle.values import Row, same_key
from tests.oracle.windows import Sessions, TimeExtents
from tests.tiers import only
from tests.windowed.test_oracle_sessions import session_queries

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

KEY = "c0"


def most_between(rows: tuple[Row, ...], column: str = KEY) -> int:
    """The most other rows between consecutive rows of one value."""
    last: dict[object, int] = {}
    most = 0
    for number, row in enumerate(rows, start=1):
        value = same_key(row[column])
        if row[column] is not None:
            most = max(most, number - last.get(value, number - 1) - 1)
            last[value] = number
    return most


@st.composite
def queries(draw: st.DrawFn, kind: str, *, holds: bool) -> Query:
    """A query grouped by the clustered column, whose constraint holds or may not."""
    query = draw(strategies.queries() if kind == "time" else session_queries())
    assume("w" not in dict(query.stream.columns))
    window = query.window
    if isinstance(window, TimeExtents) and window.range is None:
        window = replace(window, range=3 * window.slide)
    if isinstance(window, Sessions) and window.partition:
        window = replace(window, partition=tuple(sorted({KEY, *window.partition})))
    keys = tuple(sorted({KEY, *query.keys, *(window.partition if isinstance(window, Sessions) else ())}))
    rows = query.stream.rows
    if draw(st.booleans()):  # neighbours in value as well as in time
        rows = tuple(sorted(rows, key=lambda r: str(same_key(r[KEY]))))
    most = most_between(rows)
    horizon = window.gap if isinstance(window, Sessions) else window.range  # type: ignore[union-attr]
    clusters = Clusters(KEY, most if holds else draw(st.integers(0, most)), horizon)
    return replace(query, stream=replace(query.stream, rows=rows, clusters=clusters), window=window, keys=keys)


def with_breaches(query: Query, expected: Answer) -> Answer:
    """The answer with the rows that broke the constraint and missed nothing."""
    listed = [id(row) for row, _, _ in expected.late]
    for r in query.stream.arrived():
        if r.broke and id(r.row) not in listed:
            expected.late.append((r.row, r.before if r.late else None, 0))  # type: ignore[arg-type]
    return expected


@pytest.mark.parametrize("kind", ["time", "sessions"])
@searching
@given(st.data())
def test_a_constraint_that_holds_changes_no_answer(kind: str, data: st.DataObject) -> None:
    query = data.draw(queries(kind, holds=True))
    without = replace(query, stream=replace(query.stream, clusters=None))
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    assert_right(query, answer(without), Ran(query, sizes), sizes)


@pytest.mark.parametrize("kind", ["time", "sessions"])
@searching
@given(st.data())
def test_rows_that_break_it_are_late_for_what_was_final_and_all_of_them_are_listed(
    kind: str, data: st.DataObject
) -> None:
    query = data.draw(queries(kind, holds=False))
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    assert_right(query, with_breaches(query, answer(query)), Ran(query, sizes), sizes)


def orders(rows: list[tuple], constraint: str = "", source: str = "frame://s") -> Session:
    """A session with a stream `s` of (key, value, time)."""
    schema = {"k": pl.String, "x": pl.Int64, "ts": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    session = Session({"s": frame, "pieces": lambda: frame.iter_slices(500)})
    clause = f", {constraint}" if constraint else ""
    session.execute(f"CREATE STREAM s (k STRING, x BIGINT, ts BIGINT{clause}) ORDER BY ts SOURCE '{source}'")
    return session


CLUSTERED = "CONSTRAINT CLUSTERED (k) WITHIN 1 ROW"
BROKEN = [
    *[("a", 1, 1), ("b", 1, 2), ("b", 1, 3), ("a", 5, 4), ("a", 7, 12)],
    *[("c", 1, 13), ("c", 1, 14), ("c", 1, 60), ("a", 1, 61)],
]


def test_a_row_that_breaks_the_constraint_goes_to_late_with_what_it_missed() -> None:
    with orders(BROKEN, CLUSTERED) as session:
        (query,) = session.execute("SELECT k, sum(x) AS x FROM s [RANGE 10 MICROSECONDS TUMBLING] GROUP BY k")
        query.wait(200)
        # a is over at time 3, which is remembered for a range; then it is a value like any other
        assert sorted(query.to_polars().rows()) == [
            (0, 10, "a", 1),
            (0, 10, "b", 2),
            (10, 20, "a", 7),
            (10, 20, "c", 2),
            (60, 70, "a", 1),
            (60, 70, "c", 1),
        ]
        assert query.late.rows() == [("a", 5, 4, 13, 1), ("a", 7, 12, 13, 0)]
        assert query.stats["late"] == 2


def test_a_query_over_other_columns_uses_rows_that_break_it_and_tells_of_them() -> None:
    with orders(BROKEN[:4], CLUSTERED) as session:
        selection, total = session.execute(
            "SELECT x FROM s; SELECT sum(x) AS x FROM s [RANGE 10 MICROSECONDS TUMBLING]"
        )
        selection.wait(200), total.wait(200)
        assert selection.to_polars()["x"].to_list() == [1, 1, 1, 5]
        assert total.to_polars().rows() == [(0, 10, 8)]
        # the selection keeps nothing of a value, the total its range: so long is the promise
        assert [q.late.rows() for q in (selection, total)] == [[("a", 5, 4, 13, 0)]] * 2


@pytest.mark.parametrize(
    "window",
    only(
        ["[RANGE 1 MINUTE SLIDE 10 SECONDS]", "[RANGE 1 MINUTE TUMBLING]", "[SESSION 30 SECONDS]"],
        "[SESSION 30 SECONDS]",
    ),
)
def test_a_value_that_is_over_is_forgotten_and_the_answers_are_the_same(window: str) -> None:
    # 8,000 values of 8 rows each, 1 ms apart, two at a time under way
    rows = [(f"order {i // 16 * 2 + i % 2}", i % 7, i * 1000) for i in range(64_000)]
    peaks, answers = [], []
    with patch.object(feed, "BATCH_ROWS", 0):  # frames stay as they are
        for constraint in ("", CLUSTERED):
            with orders(rows, constraint, "python://pieces") as session:
                (query,) = session.execute(f"SELECT k, sum(x) AS x, min(x) AS least FROM s {window} GROUP BY k")
                query.wait(200)
                answers.append(sorted(query.to_polars().rows()))
                # a session of numbers holds no more than the promise of a value does, so promises count apart there
                promises = () if "SESSION" in window else query.stats["sources"]
                peaks.append(sum(t["peak_bytes"] for t in (*query.stats["operators"], *promises)))
                assert query.late.height == 0
    assert answers[0] == answers[1]
    assert peaks[1] < peaks[0], peaks
