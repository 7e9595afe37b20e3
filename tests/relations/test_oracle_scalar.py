"""SELECTs that stand for values against brute force: in WHERE, in the select list and in HAVING, at every instant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import QueryError, Session
from jupyter_stream.errors import UnsupportedError
from tests.joins.test_joins_under_slide import ends
from tests.oracle.search import searching
from tests.relations.test_oracle_sets import Leaf, Row, arrivals, instants_of, session_over

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

Rows = list[tuple[str | None, int | None, int]]


@dataclass(frozen=True)
class Value:
    """A SELECT that stands for a value, in a condition on a row `o` of the query around it.

    Attributes:
        sql: the condition, `{}` in the place of FROM.
        holds: whether it is true for a row, given the rows inside.
    """

    sql: str
    holds: Callable[[Row, list[Row]], bool]


def numbers(inner: list[Row], key: object = ...) -> list[int]:
    return [n for k, n in inner if n is not None and (key is ... or (k is not None and k == key))]


def average(row: Row, inner: list[Row]) -> bool:
    found = numbers(inner)
    return bool(found) and row[1] is not None and row[1] > sum(found) / len(found)


def most_of_own(row: Row, inner: list[Row]) -> bool:
    found = numbers(inner, row[0])
    return bool(found) and row[1] is not None and row[1] >= max(found)


def none_of_own(row: Row, inner: list[Row]) -> bool:
    return not any(k is not None and k == row[0] and n == 1 for k, n in inner)


def least_of_own_or_two(row: Row, inner: list[Row]) -> bool:
    return row[1] is not None and row[1] >= min(numbers(inner, row[0]), default=2)


def more_than_rows(row: Row, inner: list[Row]) -> bool:
    return row[1] is not None and row[1] > len(inner)


def few_of_own(row: Row, inner: list[Row]) -> bool:
    return sum(1 for k, _ in inner if k is not None and k == row[0]) < 2


def between(row: Row, inner: list[Row]) -> bool:
    found = numbers(inner)
    return bool(found) and row[1] is not None and not (min(found) < row[1] < max(found))


def member(row: Row, inner: list[Row]) -> bool | None:
    """`k IN (...)`: None where it is unknown."""
    if any(k is not None and k == row[0] for k, _ in inner):
        return True
    return None if inner and (row[0] is None or any(k is None for k, _ in inner)) else False


def most_of_a_key(row: Row, inner: list[Row]) -> int | None:
    found = Counter(k for k, n in inner if n is not None and row[1] is not None and n >= row[1])
    return max(found.values(), default=None)


def above_all(row: Row, inner: list[Row]) -> bool:
    compared = [None if row[1] is None or n is None else row[1] >= n for _, n in inner]
    return all(compared)


VALUES = (
    Value("o.n > (SELECT avg(n) FROM {})", average),
    Value("o.n >= (SELECT max(i.n) FROM {} i WHERE i.k = o.k)", most_of_own),
    Value("(SELECT count(*) FROM {} i WHERE o.k = i.k AND n = 1) = 0", none_of_own),
    Value("o.n >= coalesce((SELECT min(i.n) FROM {} i WHERE i.k = o.k), 2)", least_of_own_or_two),
    Value("o.n > (SELECT count(*) FROM {})", more_than_rows),
    Value("(SELECT count(*) + 1 FROM {} i WHERE i.k = o.k HAVING count(*) < 2) > 0", few_of_own),
    Value("o.k IS NOT NULL AND (o.n <= (SELECT min(n) FROM {0}) OR o.n >= (SELECT max(n) FROM {0}))",
          lambda row, inner: row[0] is not None and between(row, inner)),
    Value("o.n = 2 OR o.k IN (SELECT i.k FROM {} i)", lambda row, inner: row[1] == 2 or member(row, inner) is True),
    Value("NOT (o.n = 2 OR k IN (SELECT k FROM {}))",
          lambda row, inner: row[1] is not None and row[1] != 2 and member(row, inner) is False),
    Value("(k NOT IN (SELECT k FROM {})) IS NULL", lambda row, inner: member(row, inner) is None),
    Value("o.n = 1 OR NOT EXISTS (SELECT * FROM {} i WHERE i.k = o.k)",
          lambda row, inner: row[1] == 1 or not any(k is not None and k == row[0] for k, _ in inner)),
    Value("n >= ALL (SELECT n FROM {})", above_all),
    Value("(SELECT count(*) FROM {} i WHERE i.n < o.n) >= 2",
          lambda row, inner: sum(1 for n in numbers(inner) if row[1] is not None and n < row[1]) >= 2),
    Value("o.n = (SELECT i.n FROM {} i WHERE i.k = o.k ORDER BY i.n DESC NULLS LAST LIMIT 1)",
          lambda row, inner: row[1] is not None and row[1] == max(numbers(inner, row[0]), default=None)),
    Value("(SELECT max(c) FROM (SELECT i.k, count(*) AS c FROM {} i WHERE i.n >= o.n GROUP BY i.k) x) = 1",
          lambda row, inner: most_of_a_key(row, inner) == 1),
    Value("EXISTS (SELECT k FROM {} i WHERE i.k = o.k GROUP BY k HAVING count(*) > o.n)",
          lambda row, inner: row[0] is not None and row[1] is not None and rows_of(row[0], inner) > row[1]),
    Value("(o.k, o.n) IN (SELECT k, n FROM {})",
          lambda row, inner: None not in row and row in inner),
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

    def states() -> Iterator[tuple[int, Counter]]:
        for instant in sorted({*instants_of(one, rows), *instants_of(two, rows)}):
            there = list(two.at(instant, rows).elements())
            yield instant, Counter(row for row in one.at(instant, rows).elements() if value.holds(row, there))

    assert ran(rows, pieces, query, stream) == changes(states(), stream), query


@dataclass(frozen=True)
class Asked:
    """A SELECT that stands for a value, asked of a key `o.k`: as written, and what it is of the rows inside."""

    sql: str
    value: Callable[[str | None, list[Row]], object]


ASKED = (
    Asked("(SELECT max(n) FROM {})", lambda key, inner: max(numbers(inner), default=None)),
    Asked("(SELECT count(*) FROM {})", lambda key, inner: len(inner)),
    Asked("(SELECT sum(i.n) FROM {} i WHERE i.k = o.k)", lambda key, inner: summed(numbers(inner, key))),
    Asked("(SELECT count(i.n) FROM {} i WHERE o.k = i.k)", lambda key, inner: len(numbers(inner, key))),
    Asked(
        "1 + coalesce((SELECT max(n) FROM {0}), 0) - (SELECT count(*) FROM {0} i WHERE i.k = o.k AND n = 1)",
        lambda key, inner: 1 + max(numbers(inner), default=0) - numbers(inner, key).count(1),
    ),
    Asked(
        "(SELECT CASE WHEN sum(i.n) > 1 THEN 0 ELSE 1 END FROM {} i WHERE i.k = o.k)",
        lambda key, inner: 0 if sum(numbers(inner, key)) > 1 else 1,
    ),
    Asked(
        "(SELECT count(*) FROM {} i WHERE i.k = o.k HAVING count(*) <= 1)",
        lambda key, inner: found if (found := rows_of(key, inner)) <= 1 else None,
    ),
    Asked(
        "(SELECT coalesce(sum(n), -1) FROM {} HAVING count(*) <> 1)",
        lambda key, inner: None if len(inner) == 1 else sum(numbers(inner)) if numbers(inner) else -1,
    ),
)  # fmt: skip


def rows_of(key: str | None, inner: list[Row]) -> int:
    return sum(1 for k, _ in inner if k is not None and k == key)


def summed(values: list[int]) -> int | None:
    return sum(values) if values else None


def changes(states: Iterable[tuple[int, Counter]], stream: bool) -> Counter:
    """What enters, or all changes, of a relation with these states at these instants."""
    found: Counter = Counter()
    before: Counter = Counter()
    for instant, now in states:
        for row, count in (now - before).items():
            found[row if stream else (*row, 1, instant)] += count
        for row, count in (before - now).items() if not stream else ():
            found[*row, -1, instant] += count
        before = now
    return found


def ran(rows: dict[str, Rows], pieces: list[int], query: str, stream: bool) -> Counter:
    with session_over(rows, pieces) as session:
        (asked,) = session.execute(query if stream else f"CREATE VIEW v AS {query}")
        assert asked.wait(200), query
        assert asked.snapshot(0).error is None, query
        return Counter(asked.to_polars().rows() if stream else asked.changes().rows())


@searching
@given(
    arrivals(), arrivals(), st.lists(st.integers(1, 5), max_size=8), st.integers(1, 15), st.none() | st.integers(1, 15),
    st.sampled_from(ASKED), st.booleans(),
)  # fmt: skip
def test_a_value_stands_beside_each_row(
    s: Rows, t: Rows, pieces: list[int], outer: int, inner: int | None, asked: Asked, stream: bool
) -> None:
    rows = {"s": s, "t": t}
    one, two = Leaf("s", outer, False, None), Leaf("t", inner, False, None)
    window = "RANGE UNBOUNDED" if inner is None else f"RANGE {inner} MICROSECONDS"
    query = f"SELECT *, {asked.sql.format(f't [{window}]')} AS v FROM s [RANGE {outer} MICROSECONDS] o"

    def states() -> Iterator[tuple[int, Counter]]:
        for instant in sorted({*instants_of(one, rows), *instants_of(two, rows)}):
            there = list(two.at(instant, rows).elements())
            alive = [(k, n, ts) for k, n, ts in s if ts <= instant < ts + outer]
            yield instant, Counter((*row, asked.value(row[0], there)) for row in alive)

    assert ran(rows, pieces, query, stream) == changes(states(), stream), query


@searching
@given(
    arrivals(), arrivals(), st.lists(st.integers(1, 5), max_size=8), st.integers(1, 15), st.none() | st.integers(1, 15),
    st.sampled_from(ASKED), st.booleans(),
)  # fmt: skip
def test_a_value_stands_beside_each_group(
    s: Rows, t: Rows, pieces: list[int], outer: int, inner: int | None, asked: Asked, having: bool
) -> None:
    rows = {"s": s, "t": t}
    one, two = Leaf("s", outer, False, None), Leaf("t", inner, False, None)
    value = asked.sql.format("t [" + ("RANGE UNBOUNDED" if inner is None else f"RANGE {inner} MICROSECONDS") + "]")
    shown = "" if having else f", {value} AS v"
    query = f"SELECT k, count(*) AS c{shown} FROM s [RANGE {outer} MICROSECONDS] o GROUP BY k"
    query += f" HAVING count(*) >= {value}" if having else ""

    def states() -> Iterator[tuple[int, Counter]]:
        for instant in sorted({*instants_of(one, rows), *instants_of(two, rows)}):
            yield instant, groups(one.at(instant, rows), list(two.at(instant, rows).elements()), asked, having)

    assert ran(rows, pieces, query, stream=False) == changes(states(), stream=False), query


def groups(alive: Counter, inner: list[Row], asked: Asked, having: bool) -> Counter:
    found: Counter = Counter()
    for key, count in Counter(k for k, _ in alive.elements()).items():
        value = asked.value(key, inner)
        if not having:
            found[key, count, value] += 1
        elif value is not None and count >= value:
            found[key, count] += 1
    return found


@searching
@given(
    arrivals(), arrivals(), st.lists(st.integers(1, 5), max_size=8), st.integers(1, 15), st.integers(1, 9),
    st.none() | st.integers(1, 15), st.sampled_from(ASKED), st.booleans(),
)  # fmt: skip
def test_a_value_beside_an_extent_is_of_the_moment_before_it_ends(
    s: Rows, t: Rows, pieces: list[int], outer: int, slide: int, inner: int | None, asked: Asked, having: bool
) -> None:
    rows = {"s": s, "t": t}
    two = Leaf("t", inner, False, None)
    value = asked.sql.format("t [" + ("RANGE UNBOUNDED" if inner is None else f"RANGE {inner} MICROSECONDS") + "]")
    shown = "" if having else f", {value} AS v"
    query = (
        f"SELECT window_end, k, count(*) AS c{shown} FROM s [RANGE {outer} MICROSECONDS SLIDE {slide} MICROSECONDS] o"
    )
    query += " GROUP BY k" + (f" HAVING count(*) >= {value}" if having else "")
    expected: Counter = Counter()
    for end in ends(rows, slide, outer):
        alive = Counter((k, n) for k, n, ts in s if end - outer <= ts < end)
        for row, count in groups(alive, list(two.at(end - 1, rows).elements()), asked, having).items():
            expected[end - outer, end, *row] += count
    assert ran(rows, pieces, query, stream=True) == expected, query


@searching
@given(
    arrivals(), arrivals(), st.lists(st.integers(1, 5), max_size=8), st.integers(1, 15), st.integers(1, 9),
    st.integers(1, 15), st.sampled_from(ASKED), st.booleans(),
)  # fmt: skip
def test_an_aggregate_takes_values(
    s: Rows, t: Rows, pieces: list[int], outer: int, slide: int, inner: int, asked: Asked, sliding: bool
) -> None:
    rows = {"s": s, "t": t}
    one, two = Leaf("s", outer, False, None), Leaf("t", inner, False, None)
    value = asked.sql.format(f"t [RANGE {inner} MICROSECONDS]")
    window = f"[RANGE {outer} MICROSECONDS{f' SLIDE {slide} MICROSECONDS' if sliding else ''}]"
    query = f"SELECT k, sum(n + {value}) AS v FROM s {window} o GROUP BY k"

    def of(instant: int) -> Counter:
        there = list(two.at(instant, rows).elements())
        sums: dict[str | None, int | None] = {}
        for k, n in one.at(instant, rows).elements():
            more = asked.value(k, there)
            before = sums.setdefault(k, None)
            if n is not None and isinstance(more, int):
                sums[k] = n + more + (before or 0)
        return Counter(sums.items())

    if not sliding:
        instants = sorted({*instants_of(one, rows), *instants_of(two, rows)})
        assert ran(rows, pieces, query, stream=False) == changes(((i, of(i)) for i in instants), stream=False), query
        return
    expected: Counter = Counter()
    for end in ends(rows, slide, outer):
        expected.update({(end - outer, end, *row): count for row, count in of(end - 1).items()})
    assert ran(rows, pieces, query, stream=True) == expected, query


@pytest.fixture
def session() -> Iterator[Session]:
    with session_over({"s": [("a", 1, 1), ("b", 5, 2), ("a", 4, 9)], "t": [("a", 3, 1), ("a", 4, 8)]}, []) as session:
        yield session


def test_a_view_gives_the_value(session: Session) -> None:
    session.execute("CREATE VIEW most AS SELECT max(n) AS m FROM t")
    (query,) = session.execute("SELECT n FROM s [NOW] WHERE n >= (SELECT m FROM most)")
    (again,) = session.execute("SELECT n FROM s [NOW] WHERE n >= (SELECT max(m) + 0 AS n FROM most)")
    assert query.wait(200)
    assert again.wait(200)
    assert sorted(query.to_polars().rows()) == sorted(again.to_polars().rows()) == [(4,), (5,)]


def test_a_star_shows_what_is_in_from(session: Session) -> None:
    (query,) = session.execute(
        "SELECT * FROM s [NOW] WHERE n > (SELECT min(n) FROM t) AND n < (SELECT max(n) + 1 FROM t)"
    )
    assert query.wait(200)
    assert query.to_polars().columns == ["k", "n", "ts"]
    assert query.to_polars().rows() == [("a", 4, 9)]


def test_tables_are_asked_once() -> None:
    with Session({}) as session:
        session.execute("CREATE TABLE u (a BIGINT); INSERT INTO u VALUES (1), (2), (6)")
        (query,) = session.execute("SELECT a FROM u WHERE a > (SELECT avg(a) FROM u)")
        assert query.wait(200)
        assert query.to_polars().rows() == [(6,)]


@pytest.mark.parametrize(
    ("condition", "kind", "says"),
    [
        ("n > (SELECT k, max(n) FROM t GROUP BY k)", QueryError, "must have one column, and this one has 2"),
        ("n > (SELECT max(n) FROM t [RANGE 5 MICROSECONDS TUMBLING])", QueryError, "only where its extents end"),
        (
            "n > (SELECT count(*) + s.n FROM t [NOW] i WHERE i.n < s.n)",
            UnsupportedError,
            "has a value even without rows",
        ),
        ("n > (SELECT max(i.n) FROM t i WHERE i.n < s.n)", QueryError, "this input has no window"),
        (
            "n > (SELECT size(collect_list(i.n)) FROM t [NOW] i WHERE i.k = s.k)",
            UnsupportedError,
            "has a value even without rows",
        ),
    ],
)
def test_what_stands_for_no_value_is_refused(
    session: Session, condition: str, kind: type[QueryError], says: str
) -> None:
    session.execute("CREATE TABLE u (a BIGINT)")
    with pytest.raises(kind, match=says):
        session.execute(f"SELECT n FROM s [NOW] WHERE {condition}")


def test_a_value_is_called_as_it_is_written_unless_it_has_a_name(session: Session) -> None:
    (query,) = session.execute(
        "SELECT n, (SELECT max(n) FROM t), (SELECT max(n) FROM t), (SELECT min(n) FROM t) AS n2 FROM s [NOW]"
    )
    assert query.wait(200)
    assert query.to_polars().columns == ["n", "(SELECT max(n) FROM t)", "(SELECT max(n) FROM t)_2", "n2"]


def test_tables_are_asked_once_in_the_select_list_too() -> None:
    with Session({}) as session:
        session.execute("CREATE TABLE u (a BIGINT); INSERT INTO u VALUES (1), (2), (6)")
        (query,) = session.execute("SELECT a, (SELECT max(a) FROM u) AS most FROM u")
        (counted,) = session.execute(
            "SELECT count(*) AS c, (SELECT max(a) FROM u) AS most FROM u HAVING count(*) > (SELECT min(a) FROM u)"
        )
        assert query.wait(200)
        assert counted.wait(200)
        assert sorted(query.to_polars().rows()) == [(1, 6), (2, 6), (6, 6)]
        assert counted.to_polars().rows() == [(3, 6)]


def test_groups_can_be_values(session: Session) -> None:
    (query,) = session.execute(
        "SELECT (SELECT min(n) FROM t) AS least, count(*) AS c FROM s [RANGE 20 MICROSECONDS] GROUP BY least"
    )
    assert query.wait(200)
    assert query.to_polars().rows() == [(3, 3)]


def test_extents_with_values_are_extents(session: Session) -> None:
    window = "[RANGE 10 MICROSECONDS SLIDE 5 MICROSECONDS]"
    (first,) = session.execute(
        f"SELECT k, count(*) AS c, (SELECT max(n) FROM t) AS m FROM s {window} GROUP BY k ORDER BY c DESC LIMIT 1"
    )
    (once,) = session.execute(f"SELECT DISTINCT count(*) AS c, (SELECT max(n) FROM t) AS m FROM s {window} GROUP BY k")
    (view,) = session.execute(f"CREATE VIEW v AS SELECT count(*) AS c, (SELECT max(n) FROM t) AS m FROM s {window}")
    assert first.wait(200)
    assert once.wait(200)
    assert view.wait(200)
    assert first.to_polars().rows() == [(-5, 5, "a", 1, 3), (0, 10, "a", 2, 4), (5, 15, "a", 1, 4)]
    assert sorted(once.to_polars().rows()) == [(-5, 5, 1, 3), (0, 10, 1, 4), (0, 10, 2, 4), (5, 15, 1, 4)]
    assert once._pipeline.query.time_column == "window_end"
    assert tuple(view.to_polars().columns[2:]) == ("c", "m")


@pytest.mark.parametrize(
    ("query", "kind", "says"),
    [
        ("SELECT count(*), (SELECT max(i.n) FROM t i WHERE i.k = s.k) AS m FROM s", QueryError, "neither grouped nor aggregated"),
        ("SELECT count(*), (SELECT max(n) FROM t) AS m FROM s [RANGE 5 MICROSECONDS TUMBLING] EMIT CHANGES", UnsupportedError,
         "together with a subquery over a stream"),
        ("SELECT s.n FROM s [NOW] LEFT JOIN t [NOW] ON s.n > (SELECT max(n) FROM t)", UnsupportedError,
         "a scalar subquery can't be used here"),
        ("SELECT ISTREAM count(*), (SELECT max(n) FROM t) AS m FROM s [RANGE 5 MICROSECONDS TUMBLING]", UnsupportedError,
         "together with a scalar subquery"),
    ],
)  # fmt: skip
def test_where_no_value_can_stand(session: Session, query: str, kind: type[QueryError], says: str) -> None:
    with pytest.raises(kind, match=says):
        session.execute(query)


def test_a_select_without_a_window_waits_for_nothing(session: Session) -> None:
    with pytest.raises(QueryError, match="this input has no window") as raised:
        session.execute("SELECT n FROM s WHERE n > (SELECT max(n) FROM t)")
    assert raised.value.column == 15
