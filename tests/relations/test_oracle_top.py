"""ORDER BY ... LIMIT against brute force: the first rows of a relation at every instant, and of each extent."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import QueryError
from tests.oracle import axis
from tests.oracle.search import searching
from tests.relations.test_oracle_sets import Both, Leaf, arrivals, instants_of, session_over, trees

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
    arrivals(both=True),
    arrivals(both=True),
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
    for end in axis.ends(s, 10, 5):
        counts = Counter(k for k, _, ts in s if end - 10 <= ts < end)
        first = sorted(((k, n) for k, n in counts.items()), key=key(True))[:limit]
        expected.update((end, k, n) for k, n in first)
    assert got == expected


KINDS = ("ISTREAM", "DSTREAM", "RSTREAM")


@searching
@given(
    trees,
    arrivals(both=True),
    arrivals(both=True),
    st.lists(st.integers(1, 5), max_size=8),
    st.integers(1, 3),
    st.integers(0, 1),
    st.sampled_from(["k, n", "k"]),
)
def test_a_stream_of_the_first_rows_says_what_enters_leaves_and_is_among_them(
    plan: Leaf | Both, s: Rows, t: Rows, pieces: list[int], limit: int, offset: int, names: str
) -> None:
    rows = {"s": s, "t": t}
    words = f"{names} FROM ({plan.sql()}) ORDER BY n DESC LIMIT {limit} OFFSET {offset}"
    with session_over(rows, pieces) as session:
        handles = session.execute(";".join(f"SELECT {kind} {words}" for kind in KINDS))
        assert all(h.wait(200) for h in handles), words
        got = [Counter(h.to_polars().rows()) for h in handles]
    entered, left, present = Counter(), Counter(), Counter()
    before: Counter[tuple] = Counter()
    for instant in instants_of(plan, rows):
        first = sorted(plan.at(instant, rows).elements(), key=key(True))[offset : offset + limit]
        now = Counter(row[: 1 + names.count(",")] for row in first)
        entered += now - before
        left += before - now
        present += now if now != before else Counter()
        before = now
    assert got == [entered, left, present], words


def of_extents(kind: str, extents: list[tuple[int, Counter]]) -> Counter:
    """What enters, leaves or is there, extent by extent; each with the extent's end."""
    found: Counter[tuple] = Counter()
    before: Counter[tuple] = Counter()
    for end, now in extents:
        made = {"ISTREAM": now - before, "DSTREAM": before - now, "RSTREAM": now}[kind]
        found.update({(end, *row): count for row, count in made.items()})
        before = now
    return found


@searching
@given(arrivals(), st.lists(st.integers(1, 5), max_size=8), st.integers(1, 3), st.sampled_from(KINDS), st.booleans())
def test_a_stream_of_the_first_rows_of_extents_compares_these(
    s: Rows, pieces: list[int], limit: int, kind: str, aggregated: bool
) -> None:
    what = "k, count(*) AS n" if aggregated else "k, n"
    group = " GROUP BY k" if aggregated else ""
    query = (
        f"SELECT {kind} {what} FROM s [RANGE 10 MICROSECONDS SLIDE 5 MICROSECONDS]{group} ORDER BY n DESC LIMIT {limit}"
    )
    with session_over({"s": s}, pieces) as session:
        (top,) = session.execute(query)
        assert top.wait(200)
        got = Counter(top.to_polars().select("window_end", "k", "n").rows())
    extents = []
    for end in sorted({e + d for e in axis.ends(s, 10, 5) for d in (0, 5)}):
        held: list[tuple] = [(k, n) for k, n, ts in s if end - 10 <= ts < end]
        held = list(Counter(k for k, _ in held).items()) if aggregated else held
        extents.append((end, Counter(sorted(held, key=key(True))[:limit])))
    assert got == of_extents(kind, extents), query


@searching
@given(
    arrivals(), st.lists(st.integers(1, 5), max_size=8), st.integers(1, 4), st.sampled_from(KINDS[:2]), st.booleans()
)
def test_a_stream_of_the_first_of_the_newest_rows_compares_extents_within_partitions(
    s: Rows, pieces: list[int], held: int, kind: str, apart: bool
) -> None:
    window = f"[PARTITION BY k ROWS {held} SLIDE {held}]" if apart else f"[ROWS {held} SLIDE {held}]"
    query = f"SELECT {kind} n FROM s {window} ORDER BY n DESC LIMIT 1"
    with session_over({"s": s}, pieces) as session:
        (top,) = session.execute(query)
        assert top.wait(200)
        got = Counter(top.to_polars().select("window_end", "n").rows())
    expected: Counter[tuple] = Counter()
    for part in [[r for r in s if r[0] == k] for k in {k for k, *_ in s}] if apart else [s]:
        extents = []
        for first in range(0, len(part), held):
            rows = [(None, n) for _, n, _ in part[first : first + held]]
            best = sorted(rows, key=key(True))[0][1]
            extents.append((first + len(rows), Counter([(best,)])))
        expected += of_extents(kind, extents)
    assert got == expected, query


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
        ("SELECT k FROM s ORDER BY k", "a stream never ends, so it can't be sorted", 17),
        ("SELECT DISTINCT k FROM s ORDER BY n LIMIT 3", "ORDER BY takes columns of the result, and this is not one", 35),
        ("SELECT k FROM s ORDER BY m LIMIT 3", "there is no column called m", 26),
        ("SELECT k FROM s ORDER BY 2 LIMIT 3", "there is no select item number 2", 26),
        ("SELECT k FROM s LIMIT k", "a number of rows is expected here", 23),
        ("SELECT k FROM s ORDER BY k NULLS LIMIT 3", "FIRST or LAST is missing here", 34),
        ("SELECT k, count(*) FROM s [RANGE 5 MICROSECONDS TUMBLING] GROUP BY k LIMIT 1 EMIT CHANGES",
         "EMIT can't be used with LIMIT alone: the first rows to come never change", 78),
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
        for end in range(slide, len(of) + slide, slide):
            start = max(1, end - held + 1)
            if start <= len(of):
                inside, bounds = of[start - 1 : end], (start, min(end, len(of)))
                first.update((*bounds, *row) for row in sorted(inside, key=key(False))[:limit])
                different.update((*bounds, n) for n in {n for _, n in inside})
    assert got == first
    assert distinct == different
