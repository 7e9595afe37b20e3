"""EMIT CHANGES against the oracle: after every batch all open answers are exact over the rows so far, in the end all final."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle import strategies
from tests.oracle.aggregates import Aggregate
from tests.oracle.answer import answer
from tests.oracle.compare import assert_same_bag, difference, in_columns
from tests.oracle.progress import Watermark
from tests.oracle.provisional import open_after
from tests.oracle.query import Query, Stream
from tests.oracle.running import show
from tests.oracle.search import searching
from tests.oracle.stepping import steps
from tests.windowed.test_oracle_rows import row_queries
from tests.windowed.test_oracle_sessions import session_queries
from tests.windowed.test_oracle_tuples import queries as tuple_queries

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

KINDS: dict[str, Callable[[], st.SearchStrategy[Query]]] = {
    "time": strategies.queries,
    "sessions": session_queries,
    "rows": row_queries,
    "tuples": tuple_queries,
}


@pytest.mark.parametrize("kind", KINDS)
@searching
@given(st.data())
def test_every_open_answer_is_exact_after_every_batch(kind: str, data: st.DataObject) -> None:
    query = data.draw(KINDS[kind]())
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    columns, about = query.columns, show(query, sizes)
    expected = in_columns(answer(query).rows, columns)
    before = []
    for shown in steps(query.stream, f"{query.sql()} EMIT CHANGES", sizes):
        if shown.rows < len(query.stream.rows) or shown.open:
            now = in_columns(open_after(query, shown.rows), columns)
            here = f"after {shown.rows} rows\n{about}"
            assert_same_bag(shown.open, now, columns, f"open {here}")
            _, wrong = difference(shown.given, now)
            assert not wrong, f"given but not so: {wrong} {here}"
            unsaid, _ = difference(shown.given, difference(before, now)[0])
            assert not unsaid, f"changed and not given: {unsaid} {here}"
            before = now
        _, too_early = difference(shown.final, expected)
        assert not too_early, f"final and not in the answer: {too_early}\n{about}"
    assert_same_bag(shown.final, expected, columns, about)
    assert shown.open == []


STREAM = Stream(
    (("k", "STRING"), ("x", "INT"), ("ts", "BIGINT")),
    "ts",
    Watermark(5),
    tuple(
        {"k": k, "x": x, "ts": ts} for k, x, ts in [("a", 1, 1), ("b", 2, 3), ("a", 3, 2), ("b", 9, 4), ("a", 4, 30)]
    ),
)
TUMBLING = "FROM s [RANGE 10 MICROSECONDS TUMBLING] GROUP BY k"


def test_an_answer_is_replaced_though_neither_its_group_nor_its_window_is_shown() -> None:
    text = f"SELECT n * 10 AS ten FROM (SELECT k, count(*) AS n {TUMBLING}) EMIT CHANGES"
    assert [sorted(s.open) for s in steps(STREAM, text, [1, 1, 1, 1, 1])] == [
        [(10,)],
        [(10,), (10,)],
        [(10,), (20,)],
        [(20,), (20,)],
        [(10,)],
        [],
    ]


def test_an_answer_that_a_condition_drops_is_taken_back() -> None:
    text = f"SELECT k, count(*) AS n {TUMBLING} HAVING count(*) = 1 EMIT CHANGES"
    shown = [[row[2] for row in s.open] for s in steps(STREAM, text, [1, 1, 1, 1, 1])]
    assert shown == [["a"], ["a", "b"], ["b"], [], ["a"], []]


def test_only_answers_that_have_changed_are_given() -> None:
    text = f"SELECT k, max(x) AS m {TUMBLING} EMIT CHANGES"
    given_each_time = [[row[2:] for row in s.given] for s in steps(STREAM, text, [2, 1, 1, 1])]
    assert given_each_time == [[("a", 1), ("b", 2)], [("a", 3)], [("b", 9)], [("a", 4)], []]


@pytest.mark.parametrize(("mode", "of_a"), [("EMIT CHANGES", 2), ("EMIT EVERY 1 MICROSECOND", 1)])
def test_each_part_of_a_union_replaces_its_own_answers(mode: str, of_a: int) -> None:
    counts = f"SELECT k, count(*) AS n {TUMBLING}"
    sessions = "SELECT k, 0 - count(*) AS n FROM s [SESSION 8 MICROSECONDS] GROUP BY k"
    text = f"SELECT k, n FROM (({counts}) UNION ALL ({sessions})) {mode}"
    assert [sorted(s.open) for s in steps(STREAM, text, [3, 1, 1])] == [
        [("a", -of_a), ("a", of_a), ("b", -1), ("b", 1)],  # the third row takes time no further, so no snapshot has it
        [("a", -2), ("a", 2), ("b", -2), ("b", 2)],
        [("a", -1), ("a", 1)],
        [],
    ]


def first_counts(rows: list[tuple], most: int) -> Counter[tuple]:
    """Of answers (window_start, window_end, ..., count), the greatest counts of each extent."""
    extents: dict[tuple, list[int]] = {}
    for row in rows:
        extents.setdefault(row[:2], []).append(row[-1])
    return Counter((*extent, n) for extent, counts in extents.items() for n in sorted(counts)[::-1][:most])


@pytest.mark.parametrize("kind", ["time", "sessions", "tuples"])
@searching
@given(st.data())
def test_the_first_of_each_extent_are_revised(kind: str, data: st.DataObject) -> None:
    query = data.draw(KINDS[kind]())
    query = replace(query, aggregates=(Aggregate("count"),), having=None)
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    most = data.draw(st.integers(1, 3))
    columns, about = query.columns, show(query, sizes)
    for shown in steps(query.stream, f"{query.sql()} ORDER BY a0 DESC LIMIT {most} EMIT CHANGES", sizes):
        if shown.rows < len(query.stream.rows) or shown.open:
            now = in_columns(open_after(query, shown.rows), columns)
            assert first_counts(shown.open, 99) == first_counts(now, most), f"after {shown.rows} rows\n{about}"
    expected = first_counts(in_columns(answer(query).rows, columns), most)
    assert first_counts(shown.final, 99) == expected, about
    assert shown.open == []


def test_numbers_and_distinct_rows_are_revised_as_answers_change() -> None:
    count = f"SELECT count(*) AS n {TUMBLING}"
    ranked = f"SELECT n, ROW_NUMBER() OVER (ORDER BY n DESC) AS place FROM ({count}) EMIT CHANGES"
    assert [sorted(s.open) for s in steps(STREAM, ranked, [1, 1, 1, 1, 1])] == [
        [(1, 1)], [(1, 1), (1, 2)], [(1, 2), (2, 1)], [(2, 1), (2, 2)], [(1, 1)], []
    ]  # fmt: skip
    distinct = f"SELECT DISTINCT count(*) AS n {TUMBLING} EMIT CHANGES"
    assert [sorted(row[-1] for row in s.open) for s in steps(STREAM, distinct, [1, 1, 1, 1, 1])] == [
        [1], [1], [1, 2], [2], [1], []
    ]  # fmt: skip


def test_the_first_of_a_union_are_those_of_all_its_parts() -> None:
    parts = " UNION ALL ".join(f"(SELECT k, {n} * count(*) AS n {TUMBLING})" for n in (1, 10))
    for mode in ("EMIT CHANGES", "EMIT EVERY 1 MICROSECOND"):
        text = f"SELECT k, n FROM ({parts}) ORDER BY n DESC LIMIT 1 {mode}"
        shown = [s.open for s in steps(STREAM, text, [2, 1, 1, 1])]
        assert all(len(rows) <= 1 for rows in shown), shown
        assert [rows for rows in shown if rows][-1] == [("a", 10)]
