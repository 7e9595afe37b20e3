"""ROW_NUMBER() against brute force: rows numbered in their partitions, of a relation at every instant and of each extent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import QueryError
from tests.oracle import axis
from tests.oracle.search import searching
from tests.relations.test_oracle_sets import Both, Leaf, arrivals, instants_of, session_over, trees
from tests.relations.test_oracle_top import Rows, key

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

SLIDING = "[RANGE 10 MICROSECONDS SLIDE 5 MICROSECONDS]"


def numbered(rows: Iterable[tuple], by_k: bool, descending: bool) -> list[tuple]:
    """(k, n, number) of rows (k, n), numbered by n in the partition of their k, or all together."""
    found = []
    for k in {row[0] if by_k else None for row in rows}:
        part = sorted((r for r in rows if not by_k or r[0] == k), key=key(descending))
        found += [(*row, number) for number, row in enumerate(part, 1)]
    return found


@pytest.mark.parametrize("shown", [True, False], ids=["numbers shown", "numbers in a condition"])
@searching
@given(
    trees,
    arrivals(both=True),
    arrivals(both=True),
    st.lists(st.integers(1, 5), max_size=8),
    st.sampled_from([("<= 1", 1), ("< 3", 2), ("<= 2 AND 1 = 1", 2), (">= 1", 99), ("= 1", 1)]),
    st.booleans(),
    st.booleans(),
)
def test_numbers_are_right_at_every_instant(
    shown: bool, plan: Leaf | Both, s: Rows, t: Rows, pieces: list[int], most: tuple[str, int], by_k: bool, down: bool
) -> None:
    rows = {"s": s, "t": t}
    number = f"ROW_NUMBER() OVER ({'PARTITION BY k' if by_k else ''} ORDER BY n {'DESC' if down else ''})"
    inner = f"({plan.sql()})"
    query = f"SELECT * FROM (SELECT k, n, {number} AS place FROM {inner}) WHERE place {most[0]}"
    if not shown:
        query = f"SELECT k, n FROM {inner} WHERE {number} {most[0]}"
    with session_over(rows, pieces) as session:
        (top,) = session.execute(query)
        assert top.wait(200), query
        got = Counter(top.changes().select("k", "n", *(["place"] if shown else []), "op", "at").rows())
    expected: Counter[tuple] = Counter()
    before: Counter[tuple] = Counter()
    for instant in instants_of(plan, rows):
        first = [r for r in numbered(list(plan.at(instant, rows).elements()), by_k, down) if r[2] <= most[1]]
        now = Counter(r if shown else r[:2] for r in first)
        for row, count in (now - before).items():
            expected[*row, 1, instant] += count
        for row, count in (before - now).items():
            expected[*row, -1, instant] += count
        before = now
    assert got == expected, query


@searching
@given(arrivals(), st.lists(st.integers(1, 5), max_size=8), st.integers(1, 3), st.booleans(), st.booleans())
def test_numbers_are_right_in_each_extent(s: Rows, pieces: list[int], most: int, every: bool, aggregated: bool) -> None:
    emit = " EMIT EVERY 7 MICROSECONDS" if every else ""
    query = (
        f"SELECT k, n, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n) AS place FROM s {SLIDING} QUALIFY place <= {most}"
    )
    if aggregated:
        query = (
            f"SELECT k, count(*) AS n, ROW_NUMBER() OVER (PARTITION BY window_end ORDER BY count(*), k) AS place"
            f" FROM s {SLIDING} GROUP BY k QUALIFY place <= {most}"
        )
    with session_over({"s": s}, pieces) as session:
        (top,) = session.execute(query + emit)
        assert top.wait(200)
        got = Counter(top.to_polars().select("window_end", "k", "n", "place").rows())
    expected: Counter[tuple] = Counter()
    for end in axis.ends(s, 10, 5):
        held = [(k, n) for k, n, ts in s if end - 10 <= ts < end]
        if aggregated:
            held = list(Counter(k for k, _ in held).items())
        expected.update((end, *r) for r in numbered(held, not aggregated, False) if r[2] <= most)
    assert got == expected, query


def test_columns_that_only_order_are_not_shown() -> None:
    rows: Rows = [("a", 1, 3), ("b", 2, 1), ("a", 3, 2)]
    with session_over({"s": rows}, [1, 2]) as session:
        (top,) = session.execute("SELECT n + 1 AS m, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n DESC) FROM s")
        assert top.wait(200)
        assert sorted(top.to_polars().rows()) == [(2, 2), (3, 1), (4, 1)]
        assert top.to_polars().columns == ["m", "row_number"]


def test_a_condition_around_it_bounds_what_is_kept() -> None:
    with session_over({"s": []}, []) as session:
        (plan,) = session.execute(
            "EXPLAIN SELECT * FROM (SELECT k, ROW_NUMBER() OVER (ORDER BY n) AS r FROM s) WHERE 4 > r AND k = 'a'"
        )
        assert "LIMIT 3" in str(plan.text)


def test_a_change_log_has_a_name_left_where_columns_are_called_op_and_at() -> None:
    with session_over({"s": [("a", 1, 3)]}, [1]) as session:
        (view,) = session.execute("SELECT k AS op, n AS at FROM s ORDER BY at LIMIT 1")
        assert view.wait(200)
        assert view.to_polars().rows() == [("a", 1)]
        assert view.changes().columns == ["op", "at", "op_2", "at_2"]


@pytest.mark.parametrize(
    ("query", "message", "column"),
    [
        ("SELECT k FROM s QUALIFY k = 'a'", "QUALIFY is a condition on row numbers, and this query has none", 25),
        ("SELECT k FROM s GROUP BY k, ROW_NUMBER() OVER (ORDER BY k)",
         "ROW_NUMBER() can be used only in the select list, in QUALIFY, or in WHERE, combined with AND", 29),
        ("SELECT k, ROW_NUMBER() AS r FROM s", "OVER is missing here", 24),
        ("SELECT k, ROW_NUMBER() OVER (ORDER BY k ROWS 3 PRECEDING) AS r FROM s",
         "ROW_NUMBER() counts from the first row of its partition", 41),
        ("SELECT k FROM s WHERE ROW_NUMBER() OVER (ORDER BY z) <= 1", "there is no column called z", 51),
        ("SELECT k FROM s QUALIFY ROW_NUMBER() OVER (ORDER BY k) <= z", "there is no column called z", 59),
    ],
)  # fmt: skip
def test_mistakes_with_row_numbers(query: str, message: str, column: int) -> None:
    with session_over({"s": []}, []) as session, pytest.raises(QueryError) as wrong:
        session.execute(query)
    assert wrong.value.message == message and wrong.value.column == column
