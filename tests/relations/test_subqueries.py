"""IN, EXISTS and their negations: over tables as DuckDB has it, over streams against brute force."""

from __future__ import annotations

from collections import Counter

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import QueryError, Session
from tests.oracle.search import searching
from tests.relations.test_oracle_sets import arrivals, session_over

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

Rows = list[tuple[str | None, int | None, int]]
small = st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([0, 1, None])), max_size=5)
CONDITIONS = (
    "k IN (SELECT k FROM r)",
    "k NOT IN (SELECT k FROM r)",
    "NOT k IN (SELECT k FROM r WHERE n = 1)",
    "n + 1 IN (SELECT n FROM r)",
    "k NOT IN (SELECT k FROM r WHERE r.n = l.n)",
    "EXISTS (SELECT * FROM r WHERE r.k = l.k AND r.n > l.n)",
    "NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k)",
    "NOT EXISTS (SELECT 1 FROM r)",
    "n = 1 OR k IN (SELECT k FROM r)",
    "n > (SELECT count(*) FROM r WHERE r.n < l.n)",
    "n IN (SELECT n FROM r WHERE r.k = l.k UNION SELECT r.n + l.n FROM r WHERE r.k <> l.k)",
    "EXISTS (SELECT k FROM r WHERE r.n >= l.n GROUP BY k HAVING count(*) > 1)",
    "EXISTS (SELECT k FROM r WHERE r.k = l.k GROUP BY k HAVING count(*) > l.n)",
    "n >= (SELECT r.n FROM r WHERE r.k = l.k ORDER BY r.n DESC LIMIT 1)",
    "n = (SELECT max(c) FROM (SELECT r.k, count(*) AS c FROM r WHERE r.n <> l.n GROUP BY r.k) x)",
    "n = (SELECT max(c) FROM (SELECT count(*) AS c FROM r WHERE r.n < l.n) x)",
    "k = (SELECT min(k) FROM r WHERE EXISTS (SELECT 1 FROM r q WHERE q.k = r.k AND q.n > l.n))",
    "(SELECT count(*) FROM r WHERE r.k IS NOT DISTINCT FROM l.k) = 1",
    "(SELECT count(*) FROM (SELECT * FROM r WHERE r.k = l.k) x JOIN r y ON y.n = x.n AND y.n < l.n) = 0",
    "n IN (SELECT max(n) FROM r WHERE r.k = l.k) OR k IS NULL",
    "NOT (n = 1 OR k IN (SELECT k FROM r))",
    "(k IN (SELECT k FROM r WHERE r.n = l.n)) IS NULL",
    "k NOT IN (SELECT k FROM r GROUP BY k HAVING count(*) > 1) OR n = 0",
    "CASE WHEN EXISTS (SELECT * FROM r WHERE r.k = l.k) THEN n = 1 ELSE k NOT IN (SELECT k FROM r) END",
    "n < ANY (SELECT n FROM r)",
    "n >= ALL (SELECT n FROM r WHERE r.k = l.k)",
    "(n <> ANY (SELECT n FROM r)) IS NULL OR n = ALL (SELECT n FROM r)",
    "(k, n) IN (SELECT k, n FROM r) OR n = ANY (SELECT n FROM r WHERE k = 'b')",
    "n = 1 AND k IN (SELECT k FROM r) AND NOT EXISTS (SELECT * FROM r WHERE r.n = l.n AND r.k = 'b')",
)


@searching
@given(small, small, st.sampled_from(CONDITIONS))
def test_conditions_on_tables_are_those_of_sql(left: list, right: list, condition: str) -> None:
    frames = {
        name: pl.DataFrame(rows, schema={"k": pl.String(), "n": pl.Int64()}, orient="row")
        for name, rows in (("l", left), ("r", right))
    }
    query = f"SELECT k, n FROM l WHERE {condition}"
    with duckdb.connect() as database:
        for name, frame in frames.items():
            database.register(name, frame.to_arrow())
        expected = Counter(database.execute(query).fetchall())
    with Session({f"{name}_df": frame for name, frame in frames.items()}) as session:
        for name in frames:
            session.execute(f"CREATE TABLE {name} (k STRING, n BIGINT) SOURCE 'frame://{name}_df'")
        (handle,) = session.execute(query)
        assert handle.wait(200)
        assert Counter(handle.to_polars().rows()) == expected


JOINED = (
    "l JOIN r ON l.k = r.k AND r.n > (SELECT min(n) FROM l)",
    "l JOIN r ON l.n = r.n AND (l.k IN (SELECT k FROM r) OR r.k IS NULL)",
    "l JOIN r ON EXISTS (SELECT 1 FROM l x WHERE x.n > l.n AND x.k = r.k) LEFT JOIN r AS s ON s.k = l.k",
)


@searching
@given(small, small, st.sampled_from(JOINED))
def test_inner_joins_on_selects_are_those_of_sql(left: list, right: list, source: str) -> None:
    query = f"SELECT l.k, l.n, r.k AS k2, r.n AS n2 FROM {source}"
    schema = {"k": pl.String(), "n": pl.Int64()}
    frames = {name: pl.DataFrame(rows, schema=schema, orient="row") for name, rows in (("l", left), ("r", right))}
    with duckdb.connect() as database:
        for name, frame in frames.items():
            database.register(name, frame.to_arrow())
        expected = Counter(database.execute(query).fetchall())
    with Session({f"{name}_df": frame for name, frame in frames.items()}) as session:
        for name in frames:
            session.execute(f"CREATE TABLE {name} (k STRING, n BIGINT) SOURCE 'frame://{name}_df'")
        (handle,) = session.execute(query)
        assert handle.wait(200)
        assert Counter(handle.to_polars().rows()) == expected


@searching
@given(arrivals(), arrivals(), st.lists(st.integers(1, 5), max_size=8), st.integers(1, 15), st.integers(1, 15))
def test_conditions_on_streams_judge_a_row_over_its_whole_lifetime(
    s: Rows, t: Rows, pieces: list[int], left: int, right: int
) -> None:
    inner = f"FROM t [RANGE {right} MICROSECONDS]"
    conditions = {
        "in": f"k IN (SELECT k {inner})",
        "not in": f"k NOT IN (SELECT k {inner})",
        "exists": f"EXISTS (SELECT * {inner} WHERE t.k = s.k AND t.n >= s.n)",
        "not exists": f"NOT EXISTS (SELECT * {inner} WHERE t.k = s.k AND t.n >= s.n)",
    }
    text = ";".join(f"SELECT k, n, ts FROM s [RANGE {left} MICROSECONDS] WHERE {c}" for c in conditions.values())
    with session_over({"s": s, "t": t}, pieces) as session:
        handles = session.execute(text)
        assert all(h.wait(200) for h in handles)
        got = {name: Counter(h.to_polars().rows()) for name, h in zip(conditions, handles, strict=True)}
    expected: dict[str, Counter] = {name: Counter() for name in conditions}
    for k, n, ts in s:
        met = [(k2, n2) for k2, n2, ts2 in t if ts - right < ts2 < ts + left]
        found = k is not None and any(k2 == k for k2, _ in met)
        unknown = bool(met) and (k is None or any(k2 is None for k2, _ in met))
        more = k is not None and n is not None and any(k2 == k and n2 is not None and n2 >= n for k2, n2 in met)
        judged = {"in": found, "not in": not found and not unknown, "exists": more, "not exists": not more}
        for name, passes in judged.items():
            expected[name][k, n, ts] += passes
    for name, rows in got.items():
        assert rows == +expected[name], name


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT n FROM s WHERE k IN (SELECT k FROM t)", "nothing says how long rows of the left input wait"),
        ("SELECT n FROM s WHERE n = 1 OR k IN (SELECT k FROM t)", "this input has no window"),
        ("SELECT n FROM s [NOW] WHERE n = 1 OR k IN (SELECT k, n FROM t)", "IN needs a subquery of one column"),
        ("SELECT n FROM s [NOW] WHERE (k, n) IN (SELECT k FROM t)", "IN needs a subquery of 2 columns, and this one has 1"),
        ("SELECT n FROM s [NOW] WHERE n < ANY (array(1, 2))", "< ANY isn't available with an array"),
        ("SELECT n FROM s [NOW] WHERE n < ANY (1, 2) + 1", "+ isn't expected here"),
        ("SELECT n FROM s WHERE k IN (SELECT k, n FROM t)", "IN needs a subquery of one column, and this one has 2"),
        ("SELECT n FROM s [RANGE 5 MICROSECONDS] WHERE EXISTS (SELECT * FROM t [RANGE 5 MICROSECONDS] WHERE t.x = 1)",
         "there is no column t.x"),
    ],
)  # fmt: skip
def test_mistakes_in_conditions_on_other_queries(query: str, message: str) -> None:
    with session_over({"s": [], "t": []}, []) as session, pytest.raises(QueryError) as wrong:
        session.execute(query)
    assert message in wrong.value.message
