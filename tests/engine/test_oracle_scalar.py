"""SELECTs that stand for values against brute force: what they make of a WHERE at every instant, and what enters then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import QueryError, Session
from jupyter_stream.errors import UnsupportedError
from tests.engine.test_oracle_sets import Leaf, Row, arrivals, instants_of, session_over
from tests.oracle.search import searching

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

Rows = list[tuple[str | None, int | None, int]]
Begun = bool


@dataclass(frozen=True)
class Value:
    """A SELECT that stands for a value, in a condition on a row `o` of the query around it.

    Attributes:
        sql: the condition, `{}` in the place of FROM.
        holds: whether it is true for a row, given the rows inside, and whether there has been one.
    """

    sql: str
    holds: Callable[[Row, list[Row], Begun], bool]


def numbers(inner: list[Row], key: object = ...) -> list[int]:
    return [n for k, n in inner if n is not None and (key is ... or (k is not None and k == key))]


def average(row: Row, inner: list[Row], _: Begun) -> bool:
    found = numbers(inner)
    return bool(found) and row[1] is not None and row[1] > sum(found) / len(found)


def most_of_own(row: Row, inner: list[Row], _: Begun) -> bool:
    found = numbers(inner, row[0])
    return bool(found) and row[1] is not None and row[1] >= max(found)


def none_of_own(row: Row, inner: list[Row], _: Begun) -> bool:
    return not any(k is not None and k == row[0] and n == 1 for k, n in inner)


def least_of_own_or_two(row: Row, inner: list[Row], _: Begun) -> bool:
    return row[1] is not None and row[1] >= min(numbers(inner, row[0]), default=2)


def more_than_rows(row: Row, inner: list[Row], begun: Begun) -> bool:
    return begun and row[1] is not None and row[1] > len(inner)


def between(row: Row, inner: list[Row], _: Begun) -> bool:
    found = numbers(inner)
    return bool(found) and row[1] is not None and not (min(found) < row[1] < max(found))


VALUES = (
    Value("o.n > (SELECT avg(n) FROM {})", average),
    Value("o.n >= (SELECT max(i.n) FROM {} i WHERE i.k = o.k)", most_of_own),
    Value("(SELECT count(*) FROM {} i WHERE o.k = i.k AND n = 1) = 0", none_of_own),
    Value("o.n >= coalesce((SELECT min(i.n) FROM {} i WHERE i.k = o.k), 2)", least_of_own_or_two),
    Value("o.n > (SELECT count(*) FROM {})", more_than_rows),
    Value("o.k IS NOT NULL AND (o.n <= (SELECT min(n) FROM {0}) OR o.n >= (SELECT max(n) FROM {0}))",
          lambda row, inner, begun: row[0] is not None and between(row, inner, begun)),
)  # fmt: skip


@searching
@given(
    arrivals(),
    arrivals(),
    st.lists(st.integers(1, 5), max_size=8),
    st.integers(1, 15),
    st.none() | st.integers(1, 15),
    st.sampled_from(VALUES),
    st.booleans(),
)
def test_a_select_stands_for_its_value_at_every_instant(
    s: Rows, t: Rows, pieces: list[int], outer: int, inner: int | None, value: Value, stream: bool
) -> None:
    rows = {"s": s, "t": t}
    one, two = Leaf("s", outer, False, None), Leaf("t", inner, False, None)
    window = "RANGE UNBOUNDED" if inner is None else f"RANGE {inner} MICROSECONDS"
    query = f"SELECT k, n FROM s [RANGE {outer} MICROSECONDS] o WHERE {value.sql.format(f't [{window}]')}"
    with session_over(rows, pieces) as session:
        (asked,) = session.execute(query if stream else f"CREATE VIEW v AS {query}")
        assert asked.wait(30), query
        assert asked.snapshot(0).error is None
        got = Counter(asked.to_polars().rows() if stream else asked.changes().rows())
    expected: Counter = Counter()
    before: Counter = Counter()
    for instant in sorted({*instants_of(one, rows), *instants_of(two, rows)}):
        begun = any(ts <= instant for _, _, ts in t)
        there = list(two.at(instant, rows).elements())
        now = Counter(row for row in one.at(instant, rows).elements() if value.holds(row, there, begun))
        for row, count in (now - before).items():
            expected[row if stream else (*row, 1, instant)] += count
        if not stream:
            for row, count in (before - now).items():
                expected[*row, -1, instant] += count
        before = now
    assert got == expected, query


@pytest.fixture
def session() -> Session:
    return session_over({"s": [("a", 1, 1), ("b", 5, 2), ("a", 4, 9)], "t": [("a", 3, 1), ("a", 4, 8)]}, [])


def test_a_view_gives_the_value(session: Session) -> None:
    session.execute("CREATE VIEW most AS SELECT max(n) AS m FROM t")
    (query,) = session.execute("SELECT n FROM s [NOW] WHERE n >= (SELECT m FROM most)")
    (again,) = session.execute("SELECT n FROM s [NOW] WHERE n >= (SELECT max(m) + 0 AS n FROM most)")
    assert query.wait(30)
    assert again.wait(30)
    assert sorted(query.to_polars().rows()) == sorted(again.to_polars().rows()) == [(4,), (5,)]


def test_a_star_shows_what_is_in_from(session: Session) -> None:
    (query,) = session.execute(
        "SELECT * FROM s [NOW] WHERE n > (SELECT min(n) FROM t) AND n < (SELECT max(n) + 1 FROM t)"
    )
    assert query.wait(30)
    assert query.to_polars().columns == ["k", "n", "ts"]
    assert query.to_polars().rows() == [("a", 4, 9)]


def test_tables_are_asked_once() -> None:
    with Session({}) as session:
        session.execute("CREATE TABLE u (a BIGINT); INSERT INTO u VALUES (1), (2), (6)")
        (query,) = session.execute("SELECT a FROM u WHERE a > (SELECT avg(a) FROM u)")
        assert query.wait(30)
        assert query.to_polars().rows() == [(6,)]


@pytest.mark.parametrize(
    ("condition", "kind", "says"),
    [
        ("n > (SELECT n FROM t [NOW])", QueryError, "has one row, and this one may have several"),
        ("n > (SELECT i.n FROM t [NOW] i WHERE i.k = s.k)", QueryError, "has one row, and this one may have several"),
        ("n > (SELECT k, max(n) FROM t GROUP BY k)", QueryError, "has one column, and this one 2"),
        ("n > (SELECT max(n) FROM t GROUP BY k)", QueryError, "has one row"),
        ("n > (SELECT max(n) FROM t [RANGE 5 MICROSECONDS TUMBLING])", QueryError, "only where extents end"),
        ("n > (SELECT max(i.n) FROM t i WHERE i.n < s.n)", UnsupportedError, "in equalities only"),
        ("n > (SELECT 1 + count(*) FROM t i WHERE i.k = s.k)", UnsupportedError, "isn't NULL"),
        ("n > (SELECT max(a) FROM u)", UnsupportedError, "what a SELECT makes of a table"),
        ("n > 1 OR n IN (SELECT n FROM t [NOW])", QueryError, "IN and EXISTS with a SELECT"),
    ],
)
def test_what_stands_for_no_value_is_refused(
    session: Session, condition: str, kind: type[QueryError], says: str
) -> None:
    session.execute("CREATE TABLE u (a BIGINT)")
    with pytest.raises(kind, match=says):
        session.execute(f"SELECT n FROM s [NOW] WHERE {condition}")


def test_a_select_without_a_window_waits_for_nothing(session: Session) -> None:
    with pytest.raises(QueryError, match="nothing says how long") as raised:
        session.execute("SELECT n FROM s WHERE n > (SELECT max(n) FROM t)")
    assert raised.value.column == 15
