"""What SELECTs make of tables, beside streams: looked up at each row's time, or revising as retroactive tables do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import QueryError, Session, UnsupportedError
from tests.engine.live import Live
from tests.joins.test_joins_under_slide import ends
from tests.oracle.search import searching
from tests.relations.test_oracle_sets import arrivals, session_over

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

Rows = list[tuple[str | None, int | None, int]]
Held = list[tuple[str | None, int | None]]
PIECES = st.lists(st.integers(1, 5), max_size=8)
HELD = st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([0, 1, 2, None])), max_size=5)


@dataclass(frozen=True)
class Asked:
    """A query of stream rows `k`, `n` beside table `u`, and what it makes of one row, given what the table holds."""

    sql: str
    answers: Callable[[str | None, int | None, Held], list[tuple]]


def values(held: Held, key: object = ...) -> list[int]:
    return [a for k, a in held if a is not None and (key is ... or (k is not None and k == key))]


def above(k: str | None, n: int | None, held: Held) -> list[tuple]:
    known = values(held)
    return [(k, n)] if known and n is not None and n > sum(known) / len(known) else []


def beside(k: str | None, n: int | None, held: Held) -> list[tuple]:
    return [(k, n, len(held), max(values(held), default=None))]


def of_own(k: str | None, n: int | None, held: Held) -> list[tuple]:
    return [(k, n, min(values(held, k), default=None), len(values(held, k)))]


def grouped(k: str | None, n: int | None, held: Held) -> list[tuple]:
    return [(k, n, len([1 for other, _ in held if other == k]))] if k in {other for other, _ in held if other} else []


def padded(k: str | None, n: int | None, held: Held) -> list[tuple]:
    return grouped(k, n, held) or [(k, n, None)]


def chosen(k: str | None, n: int | None, held: Held) -> list[tuple]:
    return [(k, n)] if k is not None and sum(a == 1 for other, a in held if other == k) else []


def frequent(k: str | None, n: int | None, held: Held) -> list[tuple]:
    often = {other for other, c in Counter(o for o, _ in held).items() if c > 1}
    inside = k is not None and k in often
    unknown = bool(often) and (k is None or None in often)
    return [] if inside or unknown else [(k, n)]


COUNTED = "(SELECT k, count(*) AS c FROM u GROUP BY k) x ON s.k = x.k"
QUERIES = (
    Asked("SELECT k, n FROM s WHERE n > (SELECT avg(a) FROM u)", above),
    Asked("SELECT k, n, (SELECT count(*) FROM u) AS c, (SELECT max(a) FROM u) AS m FROM s", beside),
    Asked("SELECT *, (SELECT count(a) FROM u WHERE u.k = s.k) AS c FROM"
          " (SELECT k, n, (SELECT min(a) FROM u WHERE u.k = s.k) AS m FROM s) s", of_own),
    Asked(f"SELECT s.k, n, c FROM s JOIN {COUNTED}", grouped),
    Asked(f"SELECT s.k, n, c FROM s LEFT JOIN {COUNTED}", padded),
    Asked("SELECT s.k, n FROM s JOIN (SELECT DISTINCT k FROM u WHERE a = 1) x ON x.k = s.k", chosen),
    Asked("SELECT k, n FROM s WHERE k NOT IN (SELECT k FROM u GROUP BY k HAVING count(*) > 1)", frequent),
)  # fmt: skip


def sql_row(row: tuple[str | None, int | None]) -> str:
    return f"({', '.join('NULL' if v is None else repr(v) for v in row)})"


def insert(session: Session, rows: Held) -> None:
    if rows:
        session.execute(f"INSERT INTO u VALUES {', '.join(map(sql_row, rows))}")


@searching
@given(arrivals(), PIECES, HELD, st.sampled_from(QUERIES))
def test_a_stream_looks_up_what_is_made_of_tables(s: Rows, pieces: list[int], held: Held, asked: Asked) -> None:
    with session_over({"s": s}, pieces) as session:
        session.execute("CREATE TABLE u (k STRING, a BIGINT)")
        insert(session, held)
        (query,) = session.execute(asked.sql)
        assert query.wait(200)
        assert query.snapshot(0).error is None
        got = Counter(query.to_polars().rows())
    assert got == Counter(row for k, n, _ in s for row in asked.answers(k, n, held))


@searching
@given(st.lists(HELD, min_size=1, max_size=4), st.sampled_from(QUERIES))
def test_a_change_goes_for_the_rows_that_come_after_it(steps: list[Held], asked: Asked) -> None:
    expected: Counter = Counter()
    held: Held = []
    came: Held = [("a", 1), ("b", 2), (None, 1), ("a", None)]
    with Live({"s": {"k": pl.String(), "n": pl.Int64()}}) as live:
        live.session.execute(
            "CREATE STREAM s (k STRING, n BIGINT) ORDER BY current_time SOURCE 'python://s';"
            "CREATE TABLE u (k STRING, a BIGINT)"
        )
        (query,) = live.session.execute(asked.sql)
        for rows in steps:
            live.say(query, "s", *came)
            expected.update(row for k, n in came for row in asked.answers(k, n, held))
            insert(live.session, rows)
            held = held + rows
        live.say(query, "s", *came)
        expected.update(row for k, n in came for row in asked.answers(k, n, held))
        live.end(query)
        assert Counter(query.to_polars().rows()) == expected


@searching
@given(arrivals(), PIECES, HELD, st.lists(HELD, max_size=3), st.sampled_from(QUERIES))
def test_a_retroactive_table_revises_what_is_made_of_it(
    s: Rows, pieces: list[int], early: Held, late: list[Held], asked: Asked
) -> None:
    with session_over({"s": s}, pieces) as session:
        session.execute("CREATE RETROACTIVE TABLE u (k STRING, a BIGINT)")
        insert(session, early)
        (query,) = session.execute(asked.sql)
        assert query.wait(200)
        held = early
        for rows in [[], *late]:
            insert(session, rows)
            held = held + rows
            assert Counter(query.to_polars().rows()) == Counter(r for k, n, _ in s for r in asked.answers(k, n, held))
        assert query.snapshot(0).error is None
        session.execute("DELETE FROM u")
        assert Counter(query.to_polars().rows()) == Counter(row for k, n, _ in s for row in asked.answers(k, n, []))


@searching
@given(arrivals(), PIECES, HELD, st.integers(1, 15), st.integers(1, 9), st.booleans(), st.booleans())
def test_extents_look_up_what_is_made_of_tables(
    s: Rows, pieces: list[int], held: Held, length: int, slide: int, having: bool, retroactive: bool
) -> None:
    window = f"[RANGE {length} MICROSECONDS SLIDE {slide} MICROSECONDS]"
    query = (
        f"SELECT window_end, k, count(*) AS c, (SELECT sum(a) FROM u WHERE u.k = s.k) AS m FROM s {window} GROUP BY k"
    )
    query += " HAVING count(*) > (SELECT max(a) FROM u)" if having else ""
    with session_over({"s": s}, pieces) as session:
        session.execute(f"CREATE {'RETROACTIVE ' * retroactive}TABLE u (k STRING, a BIGINT)")
        insert(session, held)
        (asked,) = session.execute(query)
        assert asked.wait(200)
        got = Counter(asked.to_polars().rows())
    expected: Counter = Counter()
    for end in ends({"s": s}, slide, length):
        counts = Counter(k for k, _, ts in s if end - length <= ts < end)
        for k, count in counts.items():
            if not having or (values(held) and count > max(values(held))):
                expected[end - length, end, k, count, sum(values(held, k)) if values(held, k) else None] += 1
    assert got == expected


@pytest.mark.parametrize("condition", ["JOIN u ON s.k = u.k", "WHERE s.k IN (SELECT k FROM u GROUP BY k)"])
@searching
@given(arrivals(), PIECES, HELD, st.integers(1, 15), st.integers(1, 9), st.booleans())
def test_tables_are_looked_into_under_slide(
    condition: str, s: Rows, pieces: list[int], held: Held, length: int, slide: int, retroactive: bool
) -> None:
    query = f"SELECT s.k, n FROM s [RANGE {length} MICROSECONDS SLIDE {slide} MICROSECONDS] {condition}"
    with session_over({"s": s}, pieces) as session:
        session.execute(f"CREATE {'RETROACTIVE ' * retroactive}TABLE u (k STRING, a BIGINT)")
        insert(session, held)
        (asked,) = session.execute(query)
        assert asked.wait(200)
        assert asked.snapshot(0).error is None
        got = Counter(asked.to_polars().rows())
    expected: Counter = Counter()
    there = Counter(k for k, _ in held if k is not None)
    for end in ends({"s": s}, slide, length):
        for k, n, ts in s:
            if end - length <= ts < end:
                expected[end - length, end, k, n] += there[k] if condition.startswith("JOIN") else min(there[k], 1)
    assert got == +expected, query


@pytest.fixture
def session() -> Iterator[Session]:
    with session_over({"s": [("a", 1, 1), ("b", 5, 2), ("a", 4, 9)]}, []) as made:
        made.execute("CREATE TABLE u (k STRING, a BIGINT); CREATE RETROACTIVE TABLE r (k STRING, a BIGINT)")
        made.execute("INSERT INTO u VALUES ('a', 3), ('b', 4)")
        yield made


def test_an_aggregate_of_no_rows_has_one(session: Session) -> None:
    (query,) = session.execute("SELECT count(*) AS c, max(a) AS m FROM r")
    assert query.wait(200)
    assert query.to_polars().rows() == [(0, None)]


def test_views_of_tables_are_made_of_them(session: Session) -> None:
    session.execute("CREATE VIEW most AS SELECT max(a) AS m FROM u")
    one, two = session.execute("SELECT n FROM s JOIN most ON n <= m; SELECT n FROM s WHERE n > (SELECT m FROM most)")
    assert one.wait(200)
    assert two.wait(200)
    assert sorted(one.to_polars()["n"]) == [1, 4]
    assert two.to_polars()["n"].to_list() == [5]


def test_explain_says_what_is_looked_into(session: Session) -> None:
    (plan,) = session.run("EXPLAIN SELECT n FROM s WHERE n > (SELECT avg(a) FROM u) ON SPARK")
    assert "look-up in (SELECT avg(a) FROM u)" in str(plan)


def test_answers_that_look_up_are_extents_still(session: Session) -> None:
    window = "[RANGE 10 MICROSECONDS SLIDE 5 MICROSECONDS]"
    (entered,) = session.execute(f"SELECT ISTREAM k, (SELECT max(a) FROM u) AS m FROM s {window} GROUP BY k")
    (rows,) = session.execute(f"SELECT n, (SELECT max(a) FROM u) AS m FROM s {window} WHERE n > (SELECT min(a) FROM u)")
    assert entered.wait(200)
    assert rows.wait(200)
    assert sorted(entered.to_polars().rows()) == [(-5, 5, "a", 4), (-5, 5, "b", 4)]
    assert sorted(rows.to_polars().rows()) == [(-5, 5, 5, 4), (0, 10, 4, 4), (0, 10, 5, 4), (5, 15, 4, 4)]


@pytest.mark.parametrize(
    ("query", "kind", "says"),
    [
        ("SELECT n FROM s WHERE n < (SELECT max(u.a) FROM u JOIN r ON u.k = r.k)", UnsupportedError, "some of these tables"),
        ("SELECT n FROM s, (SELECT max(a) AS m FROM u) [RANGE 5 MICROSECONDS] x", QueryError, "this is made of tables"),
        ("SELECT n FROM u CROSS JOIN u v JOIN s ON u.k = s.k", QueryError, "pairs every row of a table"),
        ("SELECT n FROM s RIGHT JOIN (SELECT max(a) AS m FROM u) x ON n = m", QueryError, "would wait forever"),
    ],
)  # fmt: skip
def test_what_cannot_be_made_of_tables(session: Session, query: str, kind: type[QueryError], says: str) -> None:
    with pytest.raises(kind, match=says):
        session.execute(query)
