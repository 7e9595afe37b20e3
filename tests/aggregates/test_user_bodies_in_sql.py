"""Bodies of aggregates are SQL: joins, set operations, SELECTs in FROM, tables of the session, recursion, chance."""

# ruff: noqa: E501  # tables of statements read best with one to a line

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest

from jupyter_stream.aggregates.user.python import PythonAggregate
from jupyter_stream.aggregates.user.sql import SqlProgram
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.functions.scalar import RowError
from jupyter_stream.session.session import Session
from tests.aggregates.test_user_bodies import body, program

INT, REAL, TEXT = pl.Int32(), pl.Float64(), pl.String()
TWO = "TABLE t (a INT, b INT); TABLE u (a INT, c INT);"
FILL = "INSERT INTO t VALUES (x, 10 * x); INSERT INTO u VALUES (x + 1, 100 * x)"


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("SELECT t.a, c FROM t LEFT JOIN u ON t.a = u.a", [(1, None), (2, 100), (3, 200)]),
        ("SELECT b, u.a FROM t RIGHT JOIN u ON t.a = u.a", [(20, 2), (30, 3), (None, 4)]),
        ("SELECT b, c FROM t FULL JOIN u ON t.a = u.a", [(10, None), (20, 100), (30, 200), (None, 300)]),
        ("SELECT a, c FROM t FULL JOIN u USING (a)", [(1, None), (2, 100), (3, 200), (4, 300)]),
        (
            "SELECT t.a, s.c FROM t JOIN (SELECT a - 1 AS a, c FROM u WHERE c > 100) s ON t.a = s.a",
            [(2, 200), (3, 300)],
        ),
        (
            "SELECT t.a, s.n FROM t LEFT JOIN (SELECT a, count(*) AS n FROM u GROUP BY a) AS s ON s.a = t.a ORDER BY 1",
            [(1, None), (2, 1), (3, 1)],
        ),
        ("SELECT a, 0 FROM t UNION SELECT a, 0 FROM u ORDER BY 1 DESC", [(4, 0), (3, 0), (2, 0), (1, 0)]),
        ("SELECT a, 0 FROM t EXCEPT SELECT a, 0 FROM u", [(1, 0)]),
        ("SELECT a, 0 FROM t INTERSECT SELECT a, 0 FROM u", [(2, 0), (3, 0)]),
        ("SELECT a, 0 FROM t UNION ALL SELECT a, 1 FROM u ORDER BY a LIMIT 3", [(1, 0), (2, 0), (2, 1)]),
        ("SELECT a, b FROM t WHERE a IN (SELECT a FROM u UNION SELECT 1)", [(1, 10), (2, 20), (3, 30)]),
        ("SELECT a, (SELECT sum(c) FROM u WHERE u.a > t.a) FROM t", [(1, 600), (2, 500), (3, 300)]),
        (
            "SELECT a, (SELECT max(s.n) FROM (SELECT c AS n FROM u UNION SELECT b FROM t) s) FROM t",
            [(1, 300), (2, 300), (3, 300)],
        ),
        (
            "SELECT a, CASE WHEN EXISTS (SELECT 1 FROM u WHERE u.a = t.a) THEN 1 ELSE 0 END FROM t",
            [(1, 0), (2, 1), (3, 1)],
        ),
    ],
)
def test_a_select_in_a_body_gives(select: str, expected: list[tuple[Any, ...]]) -> None:
    made = program(body(FILL, f"INSERT INTO RETURN {select}", tables=TWO), INT)
    assert [tuple(v.values()) for v in made.over([(1,), (2,), (3,)])] == expected


NAN = "CAST('NaN' AS DOUBLE) * a"


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("SELECT count(DISTINCT a % 2, b % 2) FROM t", [2]),
        ("SELECT count(DISTINCT struct(a % 2)) FROM t", [2]),
        (f"SELECT count(DISTINCT {NAN}) FROM t", [1]),
        (f"SELECT count(*) FROM t GROUP BY {NAN}, struct(a % 2)", [2, 1]),
        (f"SELECT count(*) FROM (SELECT DISTINCT {NAN}, array(1) FROM t) q", [1]),
        (f"SELECT count(*) FROM (SELECT {NAN}, struct(1) FROM t UNION SELECT {NAN}, struct(1) FROM u) q", [1]),
        (f"SELECT a FROM t WHERE {NAN} IN (SELECT {NAN} FROM u)", [1, 2, 3]),
    ],
)
def test_values_are_equal_that_are_equal_in_queries(select: str, expected: list[Any]) -> None:
    made = program(body(FILL, f"INSERT INTO RETURN {select}", tables=TWO), INT)
    for run in (made, SqlProgram(made.body, compiled=False)):
        assert run.over([(1,), (2,), (3,)]) == expected


@pytest.mark.parametrize(
    ("select", "told"),
    [
        ("SELECT a FROM t WHERE array(a) IN (SELECT array(a) FROM u)", "can't compare"),
        ("SELECT a FROM t JOIN (SELECT array(1) AS a) s USING (a)", "can't take INT and ARRAY<INT> together"),
    ],
)
def test_values_that_cannot_be_compared_are_told(select: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        program(body(FILL, f"INSERT INTO RETURN {select}", tables=TWO), INT)


def test_an_error_says_the_state_and_the_line() -> None:
    text = "CREATE AGGREGATE f (x INT) : DOUBLE\n{ TABLE t (a INT);\n  INITIALIZE : { INSERT INTO t VALUES (x); }\n  TERMINATE : {\n    UPDATE t SET a = a;\n    INSERT INTO RETURN SELECT 1 / (a - 2) FROM t; } }"
    with pytest.raises(RowError, match="in TERMINATE, line 6 of its text: division by zero"):
        program(text, INT).over([(2,)])


RISKY = """CREATE AGGREGATE risky (v INT) : INT { TABLE k (w INT);
    INITIALIZE : ITERATE : { INSERT INTO k VALUES (v); }
    TERMINATE : { INSERT INTO RETURN SELECT sum(1 / (w - 2)) FROM k; } }"""


@pytest.mark.parametrize("call", ["risky(a)", "risky(DISTINCT a)"])
@pytest.mark.parametrize("group", ["", " GROUP BY a"])
def test_an_error_in_an_aggregate_inside_another_has_the_names_of_both(call: str, group: str) -> None:
    made = program(body(FILL, f"INSERT INTO RETURN SELECT {call} FROM t{group}", tables=TWO), INT, risky=RISKY)
    for run in (made, SqlProgram(made.body, compiled=False)):
        with pytest.raises(RowError) as failed:
            run.over([(2,)])
        assert str(failed.value) == (
            "in TERMINATE, line 1 of its text: risky: in TERMINATE, line 3 of its text: division by zero"
        )


def test_a_mistake_that_is_found_where_it_is_called_names_the_aggregate_and_the_state(session: Session) -> None:
    session.run("CREATE AGGREGATE half (x) { ITERATE : { INSERT INTO RETURN VALUES (x / 2); } }")
    with pytest.raises(QueryError, match="in ITERATE of half"):
        session.run("SELECT half(ts) AS h FROM s")


def test_aggregates_with_constants_and_of_conditions_stand_in_a_body() -> None:
    fold = "SELECT string_agg(CAST(a AS STRING), '-'), bool_and(a > 1), count_if(a > 1), quantile(a, 0.5) FROM t"
    made = program(body(FILL, f"INSERT INTO RETURN {fold}", tables=TWO), INT)
    assert tuple(made.over([(1,), (2,), (3,)])[0].values()) == ("1-2-3", False, 2, 2.0)


NEWEST = """CREATE WINDOW AGGREGATE newest (v INT) : INT { TABLE inwindow (w INT);
    INITIALIZE : ITERATE : { DELETE FROM inwindow WHERE w < v; } TERMINATE : { INSERT INTO RETURN SELECT max(w) FROM inwindow; } EXPIRE : { } }"""


def test_a_body_calls_an_aggregate_that_has_a_window_version_only() -> None:
    made = program(body(FILL, "INSERT INTO RETURN SELECT newest(a) + 1 FROM t", tables=TWO), INT, newest=NEWEST)
    assert made.over([(1,), (3,), (2,)]) == [4]


@pytest.mark.parametrize("words", ["", "WINDOW "])
def test_an_aggregate_that_is_declared_again_cannot_call_what_it_was(words: str) -> None:
    before = f"CREATE {words}AGGREGATE f (x INT) : INT {{ ITERATE : {{ INSERT INTO RETURN VALUES (x); }} }}"
    again = f"CREATE {words}AGGREGATE f (x INT) : INT {{ TABLE t (a INT); ITERATE : {{ INSERT INTO RETURN SELECT f(a) FROM t; }} }}"
    with pytest.raises(QueryError, match="An aggregate can't call itself"):
        program(again, INT, f=before)


def test_two_aggregates_cannot_call_each_other(session: Session) -> None:
    for name, other in (("there", "back"), ("back", "there")):
        calls = f"ITERATE : {{ INSERT INTO k VALUES (x); INSERT INTO RETURN SELECT {other}(v) FROM k; }}"
        session.run(f"CREATE AGGREGATE {name} (x) {{ TABLE k (v INT); {calls} }}")
    with pytest.raises(QueryError, match="can't be called here: it would call itself, through others"):
        session.run("SELECT there(node) FROM s")


def test_rows_given_to_oneself_are_taken_until_there_are_none() -> None:
    text = body(
        "INSERT INTO SELF SELECT x / 2 WHERE x > 1 AND x % 2 = 0; INSERT INTO RETURN VALUES (x)",
        "",
        tables="",
        returns=": INT",
    ).replace("TERMINATE : {  }", "")
    assert program(text, INT).over([(12,)]) == [12, 6, 3]


def test_recursion_without_an_end_is_told() -> None:
    text = body("INSERT INTO SELF VALUES (x); INSERT INTO RETURN VALUES (x)", "", returns=": INT").replace(
        "TERMINATE : {  }", ""
    )
    with pytest.raises(RowError, match="more than 1,000 levels"):
        program(text, INT).over([(1,)])


def test_chance_in_a_body_repeats_and_spreads() -> None:
    text = body("INSERT INTO t VALUES (rand())", "INSERT INTO RETURN SELECT v FROM t", tables="TABLE t (v DOUBLE);")
    made = program(text, INT)
    found = made.over([(i,) for i in range(500)])
    assert found == made.over([(i,) for i in range(500)])
    assert len(set(found)) == 500
    assert 0.45 < sum(found) / 500 < 0.55


# -- with a session

START = datetime(2024, 1, 1)


@pytest.fixture
def session() -> Iterator[Session]:
    rows = pl.DataFrame({"ts": [START + timedelta(seconds=i) for i in range(4)], "node": [1, 5, 1, 9]})
    edges = pl.DataFrame({"src": [1, 2, 3, 5, 3], "dst": [2, 3, 1, 6, 4], "cost": [1.0, 1.0, 1.0, 2.0, 5.0]})
    with Session({"rows": rows.with_columns(pl.col("ts").cast(pl.Datetime("us"))), "edges": edges}) as opened:
        opened.run(
            "CREATE STREAM s (ts TIMESTAMP, node BIGINT) ORDER BY ts SOURCE 'frame://rows';"
            "CREATE TABLE edges (src BIGINT, dst BIGINT, cost DOUBLE) SOURCE 'frame://edges';"
            "CREATE RETROACTIVE TABLE seen_before (node BIGINT, n BIGINT);"
        )
        yield opened


REACH = """
CREATE AGGREGATE reach (node BIGINT) : BIGINT
{ TABLE seen (n BIGINT);
  INITIALIZE : ITERATE : {
    INSERT INTO SELF SELECT dst FROM edges WHERE src = node AND NOT EXISTS (SELECT n FROM seen WHERE n = node);
    INSERT INTO RETURN VALUES (node) WHERE NOT EXISTS (SELECT n FROM seen WHERE n = node);
    INSERT INTO seen VALUES (node) WHERE NOT EXISTS (SELECT n FROM seen WHERE n = node); } }
"""


def answer(session: Session, text: str) -> list[tuple[Any, ...]]:
    query = session.execute(text)[-1]
    query.wait(200)
    assert query.status == "finished", query.snapshot().error
    return query.to_polars().rows()


def test_transitive_closure_over_a_stored_graph(session: Session) -> None:
    session.run(REACH)
    assert [n for (n,) in answer(session, "SELECT reach(node) AS n FROM s")] == [1, 2, 3, 4, 5, 6, 9]
    assert sorted(answer(session, "SELECT * FROM TABLE(reach(1)) r")) == [(1,), (2,), (3,), (4,)]
    assert sorted(answer(session, "SELECT reach AS n FROM TABLE(reach(5))")) == [(5,), (6,)]


def test_shortest_paths_over_a_stored_graph(session: Session) -> None:
    session.run(
        """CREATE AGGREGATE paths (node BIGINT, length DOUBLE) : (node BIGINT, length DOUBLE)
{ TABLE best (n BIGINT, d DOUBLE);
  INITIALIZE : ITERATE : {
    INSERT INTO SELF SELECT e.dst, length + e.cost FROM edges e
      WHERE e.src = node AND NOT EXISTS (SELECT n FROM best WHERE n = node AND d <= length);
    INSERT INTO best VALUES (node, length + 1) WHERE NOT EXISTS (SELECT n FROM best WHERE n = node);
    UPDATE best SET d = length WHERE n = node AND d > length; }
  TERMINATE : { INSERT INTO RETURN SELECT n, d FROM best; } }"""
    )
    assert sorted(answer(session, "SELECT * FROM TABLE(paths(1, 0.0)) p")) == [(1, 0.0), (2, 1.0), (3, 2.0), (4, 7.0)]


WRITER = """
CREATE AGGREGATE counted (x BIGINT) : BIGINT REFERENCES seen_before
{ INITIALIZE : ITERATE : {
    UPDATE seen_before SET n = n + 1 WHERE node = x;
    INSERT INTO seen_before VALUES (x, 1) WHERE NOT EXISTS (SELECT n FROM seen_before WHERE node = x);
    INSERT INTO RETURN SELECT n FROM seen_before WHERE node = x; } }
"""


def test_a_table_of_the_session_is_written_in_the_order_of_time(session: Session) -> None:
    session.run(WRITER)
    assert [n for (n,) in answer(session, "SELECT counted(node) AS n FROM s")] == [1, 1, 2, 1]
    assert sorted(answer(session, "SELECT node, n FROM seen_before")) == [(1, 2), (5, 1), (9, 1)]


def test_writing_needs_references_and_a_stream_without_a_window(session: Session) -> None:
    with pytest.raises(QueryError, match="may only read"):
        session.run(WRITER.replace("REFERENCES seen_before", ""))
    session.run(WRITER)
    with pytest.raises(UnsupportedError, match="writes seen_before"):
        session.run("SELECT counted(node) FROM s [RANGE 1 MINUTE TUMBLING]")
    with pytest.raises(QueryError, match="no table called nothing"):
        session.run(WRITER.replace("REFERENCES seen_before", "REFERENCES nothing"))


def test_a_body_reads_a_table_as_it_is_when_the_row_is_taken(session: Session) -> None:
    session.run(
        "CREATE AGGREGATE degree (x BIGINT) : BIGINT { ITERATE : { INSERT INTO RETURN SELECT count(*) FROM edges WHERE src = x; } }"
    )
    assert [n for (n,) in answer(session, "SELECT degree(node) AS n FROM s")] == [1, 1, 1, 0]
    session.run("INSERT INTO edges VALUES (9, 1, 1.0)")
    assert [n for (n,) in answer(session, "SELECT degree(node) AS n FROM s")] == [1, 1, 1, 1]


def test_chance_in_a_query_goes_by_the_row(session: Session) -> None:
    found = answer(session, "SELECT node, rand() AS r, rand() AS other FROM s")
    again = answer(session, "SELECT node, rand() AS r, rand() AS other FROM s")
    assert found == again
    values = [v for row in found for v in row[1:]]
    assert len(set(values)) == 8
    assert all(0 <= v < 1 for v in values)


def test_hash_functions_have_nothing_to_do_with_each_other(session: Session) -> None:
    (row,) = answer(
        session,
        "SELECT hash('a', 1) AS x, hash('a', 2) AS y, hash('b', 1) AS z, hash(1) = hash('1') AS same FROM s LIMIT 1",
    )[:1]
    assert len(set(row[:3])) == 3 and row[3] is True


def test_an_error_in_python_names_the_method_and_its_line() -> None:
    class Inverse:
        def iterate(self, x: int) -> None:
            self.x = x

        def terminate(self) -> float:
            value = self.x
            return 1 / value

    made = PythonAggregate(Inverse, "inverse", None, None, False).program([INT])
    with pytest.raises(RowError, match="in terminate, line 3 of it: ZeroDivisionError: division by zero"):
        made.over([(0,)])
