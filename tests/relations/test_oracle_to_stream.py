"""ISTREAM, DSTREAM and RSTREAM instant by instant, and conditions on views: when rows count, not only which."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import QueryError
from tests.oracle.search import searching
from tests.relations.test_oracle_sets import Both, Leaf, arrivals, changes_of, session_over, trees

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

Rows = list[tuple[str | None, int | None, int]]
KINDS = ("ISTREAM", "DSTREAM", "RSTREAM")


def by_instant(rows: dict[str, Rows], pieces: list[int], query: str, kinds: tuple[str, ...] = KINDS) -> list[Counter]:
    """Of the streams that a relation is made: how often each row comes at each instant."""
    with session_over(rows, pieces) as session:
        handles = []
        for kind in kinds:
            session.execute(f"CREATE STREAM made_{kind} AS SELECT {kind} k, n FROM ({query})")
        handles = session.execute(
            ";".join(
                f"SELECT window_start, k, n, count(*) AS c FROM made_{kind} [RANGE 1 MICROSECOND TUMBLING] GROUP BY k, n"
                for kind in kinds
            )
        )
        assert all(h.wait(200) for h in handles), query
        found = []
        for handle in handles:
            frame = handle.to_polars().select(pl.col("window_start").cast(pl.Int64), "k", "n", "c")
            found.append(Counter({(at, k, n): c for at, k, n, c in frame.rows()}))
    return found


@searching
@given(trees, arrivals(both=True), arrivals(both=True), st.lists(st.integers(1, 5), max_size=8))
def test_each_row_comes_at_the_instant_at_which_it_enters_leaves_or_is_there(
    plan: Leaf | Both, s: Rows, t: Rows, pieces: list[int]
) -> None:
    rows = {"s": s, "t": t}
    entered, left, present = by_instant(rows, pieces, plan.sql())
    changes = changes_of(plan, rows)
    expected: dict[int, Counter] = {1: Counter(), -1: Counter()}
    every: Counter = Counter()
    for (k, n, op, at), count in changes.items():
        expected[op][at, k, n] += count
    for instant in sorted({at for *_, at in changes}):
        every.update({(instant, *row): count for row, count in plan.at(instant, rows).items()})
    assert left == expected[-1], plan.sql()
    assert present == every, plan.sql()
    if isinstance(plan, Leaf) and not plan.distinct:  # a stream's own rows: each enters, whatever leaves just then
        qualifies = [r for r in rows[plan.stream] if plan.least is None or (r[1] is not None and r[1] >= plan.least)]
        assert entered == Counter((ts, k, n) for k, n, ts in qualifies), plan.sql()
    else:
        assert entered == expected[1], plan.sql()


@pytest.mark.parametrize("pieces", [[], [1] * 8, [3, 2]], ids=["at once", "one by one", "in pieces"])
def test_equal_rows_at_one_time_enter_and_leave_one_by_one(pieces: list[int]) -> None:
    rows: Rows = [("a", 1, 10), ("a", 1, 10), ("a", 1, 15), ("b", 2, 10)]
    entered, left, present = by_instant({"s": rows}, pieces, "SELECT k, n FROM s [RANGE 5 MICROSECONDS]")
    assert entered == {(10, "a", 1): 2, (10, "b", 2): 1, (15, "a", 1): 1}
    assert left == {(15, "a", 1): 1, (15, "b", 2): 1, (20, "a", 1): 1}, "of two that leave, one is there again"
    assert present == {(10, "a", 1): 2, (10, "b", 2): 1, (15, "a", 1): 1}


@searching
@given(
    arrivals(both=True),
    arrivals(both=True),
    st.lists(st.integers(1, 5), max_size=8),
    st.integers(1, 15),
    st.integers(1, 15),
)
def test_conditions_on_a_view_say_what_holds_at_each_instant(
    s: Rows, t: Rows, pieces: list[int], left: int, right: int
) -> None:
    conditions = {"in": "k IN (SELECT k FROM v)", "not in": "k NOT IN (SELECT k FROM v)"}
    with session_over({"s": s, "t": t}, pieces) as session:
        views = session.execute(
            f"CREATE VIEW v AS SELECT k FROM t [RANGE {right} MICROSECONDS];"
            + ";".join(
                f"CREATE VIEW w{i} AS SELECT k, n FROM s [RANGE {left} MICROSECONDS] WHERE {c}"
                for i, c in enumerate(conditions.values())
            )
        )
        assert all(v.wait(200) for v in views)
        got = [Counter(v.changes().select("k", "n", "op", "at").rows()) for v in views[1:]]
    ends = {ts + d for rows, d in ((s, left), (t, right)) for _, _, ts in rows}
    expected: list[Counter] = [Counter(), Counter()]
    before = [Counter(), Counter()]
    for instant in sorted({ts for rows in (s, t) for _, _, ts in rows} | ends):
        there = {k for k, _, ts in t if ts <= instant < ts + right}
        alive = [(k, n) for k, n, ts in s if ts <= instant < ts + left]
        now = [
            Counter(r for r in alive if r[0] is not None and r[0] in there),
            Counter(r for r in alive if not there or (r[0] is not None and r[0] not in there and None not in there)),
        ]
        for i in (0, 1):
            for row, count in (now[i] - before[i]).items():
                expected[i][*row, 1, instant] += count
            for row, count in (before[i] - now[i]).items():
                expected[i][*row, -1, instant] += count
        before = now
    assert got[0] == expected[0], "IN"
    assert got[1] == expected[1], "NOT IN"


def test_a_stream_without_a_window_does_not_ask_a_view() -> None:
    with session_over({"s": [], "t": []}, []) as session:
        session.execute("CREATE VIEW v AS SELECT k FROM t [RANGE 5 MICROSECONDS]")
        with pytest.raises(QueryError) as wrong:
            session.execute("SELECT k FROM s WHERE k IN (SELECT k FROM v)")
    assert wrong.value.message == "this input has no window, which says how long rows wait for matching rows"
    assert "[NOW] to look once" in (wrong.value.hint or "")
