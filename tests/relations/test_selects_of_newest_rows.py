"""SELECT without aggregates over [ROWS n] and [PARTITION BY k ROWS n], as a relation: brute force at every instant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import UnsupportedError
from tests.oracle.search import searching
from tests.relations.test_oracle_sets import OPERATORS, Both, Leaf, arrivals, session_over

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

Rows = list[tuple[str | None, int | None, int]]
Bag = Counter[tuple]
PIECES = st.lists(st.integers(1, 5), max_size=8)
SELECTS: dict[str, Callable[[list[tuple]], Bag]] = {
    "SELECT k, n FROM {}": Counter,
    "SELECT n FROM {} WHERE n > 0": lambda rows: Counter((n,) for _, n in rows if n is not None and n > 0),
    "SELECT DISTINCT k FROM {}": lambda rows: Counter({(k,) for k, _ in rows}),
    "SELECT k FROM (SELECT k, n FROM {}) WHERE n = 1": lambda rows: Counter((k,) for k, n in rows if n == 1),
    "SELECT count(*) AS c FROM (SELECT k FROM {} WHERE n > 0)": lambda rows: Counter(
        {(sum(n is not None and n > 0 for _, n in rows),): 1}
    ),
    "SELECT k, n FROM {} WHERE n < 2 AND k IN (SELECT k FROM t [RANGE UNBOUNDED])": lambda rows: Counter(
        (k, n) for k, n in rows if n is not None and n < 2 and k == "a"
    ),
}
T: Rows = [("a", 0, -(2**62))]  # before all that is drawn


def newest(rows: Rows, instant: int, count: int, apart: bool) -> list[tuple]:
    """The newest rows, by arrival, of those whose time has come: of all, or of each k."""
    come = [(k, n) for k, n, ts in rows if ts <= instant]
    if not apart:
        return come[-count:]
    return [row for key in {k for k, _ in come} for row in [r for r in come if r[0] == key][-count:]]


def changes(rows: Rows, at: Callable[[int], Bag]) -> Bag:
    found: Bag = Counter()
    before: Bag = Counter()
    for instant in sorted({ts for *_, ts in rows}):
        now = at(instant)
        for row, copies in (now - before).items():
            found[*row, 1, instant] += copies
        for row, copies in (before - now).items():
            found[*row, -1, instant] += copies
        before = now
    return found


def window(count: int, apart: bool) -> str:
    return f"[PARTITION BY k ROWS {count}]" if apart else f"[ROWS {count}]"


@pytest.mark.parametrize("select", SELECTS)
@searching
@given(arrivals(), PIECES, st.integers(1, 4), st.booleans())
def test_a_view_holds_the_newest_rows(select: str, s: Rows, pieces: list[int], count: int, apart: bool) -> None:
    with session_over({"s": s, "t": T}, pieces) as session:
        (view,) = session.execute("CREATE VIEW v AS " + select.replace("{}", f"s {window(count, apart)}"))
        assert view.wait(200)
        got = Counter(view.changes().rows())
    if "count" in select:
        got = Counter({row: copies for row, copies in got.items() if s or row[0]})
    assert got == changes(s, lambda instant: SELECTS[select](newest(s, instant, count, apart)))


@pytest.mark.parametrize("kind", ["DSTREAM", "RSTREAM"])
@searching
@given(arrivals(), PIECES, st.integers(1, 4), st.booleans())
def test_streams_of_the_newest_rows(kind: str, s: Rows, pieces: list[int], count: int, apart: bool) -> None:
    with session_over({"s": s}, pieces) as session:
        (query,) = session.execute(f"SELECT {kind} k, n FROM s {window(count, apart)}")
        assert query.wait(200)
        got = Counter(query.to_polars().rows())
    moves = changes(s, lambda instant: Counter(newest(s, instant, count, apart)))
    expected: Bag = Counter()
    if kind == "DSTREAM":
        for (*row, sign, _), copies in moves.items():
            expected[tuple(row)] += copies if sign < 0 else 0
    else:
        for instant in {at for *_, at in moves}:
            expected.update(newest(s, instant, count, apart))
    assert got == +expected


@pytest.mark.parametrize("operator", OPERATORS)
@searching
@given(arrivals(), arrivals(), PIECES, st.integers(1, 4), st.integers(1, 15))
def test_set_operations_of_the_newest_rows(
    operator: str, s: Rows, t: Rows, pieces: list[int], count: int, length: int
) -> None:
    with session_over({"s": s, "t": t}, pieces) as session:
        (view,) = session.execute(
            f"CREATE VIEW v AS SELECT k, n FROM s [ROWS {count}] {operator} SELECT k, n FROM t [RANGE {length} MICROSECONDS]"
        )
        assert view.wait(200)
        got = Counter(view.changes().rows())
    instants = [(None, None, at) for *_, ts in t for at in (ts, ts + length)]

    def at(instant: int) -> Bag:
        sides = {
            "s": [(*row, instant) for row in newest(s, instant, count, False)],
            "t": [(*row, instant) for row in Leaf("t", length, False, None).at(instant, {"t": t}).elements()],
        }
        return Both(operator, Leaf("s", None, False, None), Leaf("t", None, False, None)).at(instant, sides)

    assert got == changes([*s, *instants], at)


def test_as_a_stream_rows_come_as_they_arrive() -> None:
    with session_over({"s": [("a", 1, 0), ("a", 2, 1), ("a", 3, 2)]}, []) as session:
        (query,) = session.execute("SELECT n FROM s [ROWS 1]")
        assert query.wait(200)
        assert query.to_polars().rows() == [(1,), (2,), (3,)]


def test_what_has_no_order_of_arrival_has_no_newest_rows() -> None:
    with session_over({"s": [], "t": []}, []) as session, pytest.raises(UnsupportedError, match="no order of arrival"):
        session.execute("SELECT DISTINCT k FROM (s UNION t) [ROWS 2]")
