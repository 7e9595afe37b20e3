"""ORDER BY ... LIMIT against brute force: the first rows of a relation at every instant, and of each extent."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import QueryError
from tests.engine.test_oracle_sets import Both, Leaf, arrivals, instants_of, session_over, trees
from tests.oracle.search import searching

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

Rows = list[tuple[str | None, int | None, int]]


def key(descending: bool):
    """By n (NULLs first where it ascends, last where it descends), then k, then n: as documented."""

    def of(row: tuple[str | None, int | None]) -> tuple:
        k, n = row
        null = n is None
        by_n = (null, 0 if n is None else -n) if descending else (not null, 0 if n is None else n)
        return (*by_n, k is not None, k or "")

    return of


@searching
@given(
    trees,
    arrivals(),
    arrivals(),
    st.lists(st.integers(1, 5), max_size=8),
    st.integers(0, 4),
    st.integers(0, 2),
    st.booleans(),
    st.booleans(),
)
def test_a_live_top_n_is_right_at_every_instant(
    plan: Leaf | Both, s: Rows, t: Rows, pieces: list[int], limit: int, offset: int, descending: bool, selected: bool
) -> None:
    rows = {"s": s, "t": t}
    words = f"ORDER BY n {'DESC' if descending else ''} LIMIT {limit} OFFSET {offset}"
    with session_over(rows, pieces) as session:
        names = ["k", "n"] if selected else ["k"]
        (top,) = session.execute(f"SELECT {', '.join(names)} FROM ({plan.sql()}) {words}")
        assert top.wait(200), plan.sql()
        got = Counter(top.changes().select(*names, "op", "at").rows())
        state = top.to_polars().rows()
    expected: Counter[tuple] = Counter()
    before: Counter[tuple] = Counter()
    for instant in instants_of(plan, rows):
        first = sorted(plan.at(instant, rows).elements(), key=key(descending))[offset : offset + limit]
        now = Counter(row[: len(names)] for row in first)
        for row, count in (now - before).items():
            expected[*row, 1, instant] += count
        for row, count in (before - now).items():
            expected[*row, -1, instant] += count
        before = now
    assert got == expected, plan.sql()
    if not selected:
        return
    assert [n for _, n in state] == [n for _, n in sorted(state, key=key(descending))], "the state is shown in order"


@searching
@given(arrivals(), st.lists(st.integers(1, 5), max_size=8), st.integers(1, 3), st.booleans())
def test_the_first_of_each_extent_come_when_it_is_over(s: Rows, pieces: list[int], limit: int, every: bool) -> None:
    emit = " EMIT EVERY 7 MICROSECONDS" if every else ""
    with session_over({"s": s}, pieces) as session:
        (top,) = session.execute(
            "SELECT k, count(*) AS n FROM s [RANGE 10 MICROSECONDS SLIDE 5 MICROSECONDS] GROUP BY k"
            f" ORDER BY count(*) DESC LIMIT {limit}{emit}"
        )
        assert top.wait(200)
        got = Counter(top.to_polars().select("window_end", "k", "n").rows())
    expected: Counter[tuple] = Counter()
    for end in range(5, 60, 5):
        counts = Counter(k for k, _, ts in s if end - 10 <= ts < end)
        first = sorted(((k, n) for k, n in counts.items()), key=key(True))[:limit]
        expected.update((end, k, n) for k, n in first)
    assert got == expected


def test_the_first_of_each_extent_may_go_by_what_is_not_selected() -> None:
    rows: Rows = [("a", 1, 1), ("b", 5, 2), ("a", 2, 3), ("c", 4, 11)]
    with session_over({"s": rows}, []) as session:
        (rows_of,) = session.execute("SELECT k FROM s [RANGE 10 MICROSECONDS TUMBLING] ORDER BY -n LIMIT 2")
        (groups,) = session.execute(
            "SELECT k FROM s [RANGE 10 MICROSECONDS TUMBLING] GROUP BY k ORDER BY sum(n) DESC, count(*) LIMIT 1"
        )
        assert rows_of.wait(200)
        assert groups.wait(200)
        assert rows_of.to_polars().rows() == [(0, 10, "b"), (0, 10, "a"), (10, 20, "c")]
        assert groups.to_polars().rows() == [(0, 10, "b"), (10, 20, "c")]


def test_a_limit_alone_gives_the_first_rows_that_come() -> None:
    rows: Rows = [("a", 1, 3), ("b", 2, 1), ("c", 3, 2), ("d", 4, 4)]
    with session_over({"s": rows}, [1, 2]) as session:
        (some,) = session.execute("SELECT k FROM s LIMIT 2 OFFSET 1")
        assert some.wait(200)
        assert some.to_polars()["k"].to_list() == ["b", "c"]


@pytest.mark.parametrize(
    ("query", "message", "column"),
    [
        ("SELECT k FROM s ORDER BY k", "a stream never ends, so that it can't be sorted", 17),
        ("SELECT DISTINCT k FROM s ORDER BY n LIMIT 3", "ORDER BY takes columns of the result, and this is none", 35),
        ("SELECT k FROM s ORDER BY m LIMIT 3", "there is no column called m", 26),
        ("SELECT k FROM s ORDER BY 2 LIMIT 3", "there is no select item number 2", 26),
        ("SELECT k FROM s LIMIT k", "a number of rows belongs here", 23),
        ("SELECT k FROM s ORDER BY k NULLS LIMIT 3", "FIRST or LAST is missing here", 34),
        ("SELECT k, count(*) FROM s [RANGE 5 MICROSECONDS TUMBLING] GROUP BY k LIMIT 1 EMIT CHANGES",
         "LIMIT alone gives the rows that come first, and these are never revised", 78),
    ],
)  # fmt: skip
def test_mistakes_in_order_by(query: str, message: str, column: int) -> None:
    with session_over({"s": []}, []) as session, pytest.raises(QueryError) as wrong:
        session.execute(query)
    assert wrong.value.message == message and wrong.value.column == column


@searching
@given(arrivals(), st.lists(st.integers(1, 5), max_size=8), st.integers(1, 4), st.integers(1, 3), st.integers(1, 2))
def test_extents_of_different_partitions_are_not_one(
    s: Rows, pieces: list[int], held: int, slide: int, limit: int
) -> None:
    window = f"s [PARTITION BY k ROWS {held} SLIDE {slide}]"
    with session_over({"s": s}, pieces) as session:
        top, values = session.execute(
            f"SELECT k, n FROM {window} ORDER BY n LIMIT {limit}; SELECT DISTINCT n FROM {window}"
        )
        assert top.wait(200) and values.wait(200)
        got, distinct = (Counter(q.to_polars().rows()) for q in (top, values))
    first: Counter[tuple] = Counter()
    different: Counter[tuple] = Counter()
    for partition in {k for k, _, _ in s}:
        of = [(k, n) for k, n, _ in s if k == partition]
        for end in range(slide, len(of) + held + slide, slide):
            start = max(1, end - held + 1)
            if start <= len(of):
                inside, bounds = of[start - 1 : end], (start, min(end, len(of)))
                first.update((*bounds, *row) for row in sorted(inside, key=key(False))[:limit])
                different.update((*bounds, n) for n in {n for _, n in inside})
    assert got == first
    assert distinct == different
