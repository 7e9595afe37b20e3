"""Bodies of aggregates in SQL: what their statements do to their tables, row by row."""

# ruff: noqa: E501  # tables of statements read best with one to a line

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from jupyter_stream.aggregates.user import Declared, calling
from jupyter_stream.binding import SqlAggregate
from jupyter_stream.functions.scalar import RowError
from jupyter_stream.syntax import CreateAggregate, parse

INT, REAL, TEXT = pl.Int32(), pl.Float64(), pl.String()


def program(text: str, *types: pl.DataType, **others: str) -> Any:
    """The aggregate a text declares, for arguments of some types; it can call the others."""
    known: dict[str, Declared] = {}
    for name, other in others.items():
        with calling(known):
            (statement,) = parse(other)
            assert isinstance(statement, CreateAggregate)
            made = SqlAggregate(statement)
        known[name] = known.get(name, Declared(name, None, None)).with_version(made)
    with calling(known):
        (statement,) = parse(text)
        assert isinstance(statement, CreateAggregate)
        return SqlAggregate(statement).program(types)


def over(text: str, rows: list[tuple[Any, ...]], *types: pl.DataType, **others: str) -> list[Any]:
    return list(program(text, *types, **others).over(rows))


def body(*statements: str, tables: str = "", parameters: str = "x INT", returns: str = "") -> str:
    """An aggregate whose ITERATE (INITIALIZE too) and TERMINATE do this."""
    iterate, terminate = statements
    states = f"INITIALIZE : ITERATE : {{ {iterate} }} TERMINATE : {{ {terminate} }}"
    return f"CREATE AGGREGATE f ({parameters}) {returns} {{ {tables} {states} }}"


KEPT = "TABLE t (a INT, b INT);"


@pytest.mark.parametrize(
    ("iterate", "terminate", "given", "expected"),
    [
        ("INSERT INTO t VALUES (x, 1)", "INSERT INTO RETURN SELECT a FROM t", [3, 1], [3, 1]),
        ("INSERT INTO t (b) VALUES (x)", "INSERT INTO RETURN SELECT coalesce(a, 0) + b FROM t", [3], [3]),
        ("INSERT INTO t VALUES (x, 1), (x, 2)", "INSERT INTO RETURN SELECT sum(b) FROM t", [3, 1], [6]),
        ("INSERT INTO t VALUES (x, 1) WHERE x > 1", "INSERT INTO RETURN SELECT a FROM t", [3, 1], [3]),
        ("INSERT INTO t VALUES (x, 0); UPDATE t SET b = b + x", "INSERT INTO RETURN SELECT b FROM t", [3, 1], [4, 1]),
        ("INSERT INTO t VALUES (x, 0); UPDATE t SET b = a WHERE a <> x", "INSERT INTO RETURN SELECT b FROM t", [3, 1], [3, 0]),
        ("INSERT INTO t VALUES (x, 0); UPDATE t SET a = b, b = a", "INSERT INTO RETURN SELECT a, b FROM t", [3], None),
        ("INSERT INTO t VALUES (x, 0); DELETE FROM t WHERE a < x", "INSERT INTO RETURN SELECT a FROM t", [3, 1, 2], [3, 1 + 1]),
        ("DELETE FROM t; INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT a FROM t", [3, 1], [1]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT DISTINCT a FROM t", [3, 1, 3], [3, 1]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT a + count(*) FROM t GROUP BY a", [3, 1, 3], [5, 2]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT a FROM t GROUP BY a HAVING count(*) > 1", [3, 1, 3], [3]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT u.a * v.a FROM t AS u, t AS v WHERE u.a < v.a", [3, 2], [6]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT u.a FROM t u JOIN t v ON u.a = v.a + 1", [3, 2], [3]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT a FROM t WHERE a = (SELECT max(a) FROM t)", [3, 2], [3]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT a FROM t AS u WHERE NOT EXISTS (SELECT a FROM t WHERE t.a < u.a)", [3, 2], [2]),
        ("INSERT INTO t VALUES (x, x % 2)", "INSERT INTO RETURN SELECT a FROM t WHERE a IN (SELECT b + 1 FROM t)", [3, 2, 1], [2, 1]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT a FROM t UNION ALL SELECT 10 * a FROM t", [3, 2], [3, 2, 30, 20]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT median(a) FROM t", [3, 2, 9], [3.0]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT count(DISTINCT a) FROM t", [3, 2, 3], [2]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT sum(a) FILTER (WHERE a > 2) FROM t", [3, 2, 3], [6]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT sum(a) FROM t WHERE a > 5", [3], [None]),
        ("INSERT INTO t SELECT a, b FROM t; INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT count(*) FROM t", [1, 1, 1], [7]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT a FROM t ORDER BY a", [3, 1, 2], [1, 2, 3]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT a FROM t ORDER BY 1 DESC LIMIT 2", [3, 1, 2, 3], [3, 3]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT a FROM t LIMIT 2 OFFSET 1", [3, 1, 2, 3], [1, 2]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT a FROM t LIMIT 0", [3, 1], []),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT DISTINCT a FROM t ORDER BY a DESC OFFSET 1", [3, 1, 2, 3], [2, 1]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT -a AS a FROM t ORDER BY a LIMIT 2", [3, 1, 2], [-3, -2]),
        ("INSERT INTO t VALUES (x, x % 2)", "INSERT INTO RETURN SELECT a FROM t ORDER BY b, a % 4 DESC, a", [4, 1, 2, 3, 8], [2, 4, 8, 3, 1]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT a FROM t GROUP BY a ORDER BY count(*) DESC, a LIMIT 2", [3, 1, 2, 3], [3, 1]),
        ("INSERT INTO t VALUES (nullif(x, 2), 0)", "INSERT INTO RETURN SELECT a FROM t ORDER BY a", [3, 1, 2], [None, 1, 3]),
        ("INSERT INTO t VALUES (nullif(x, 2), 0)", "INSERT INTO RETURN SELECT a FROM t ORDER BY a NULLS LAST", [3, 2, 1], [1, 3, None]),
        ("INSERT INTO t VALUES (nullif(x, 2), 0)", "INSERT INTO RETURN SELECT a FROM t ORDER BY a DESC", [1, 2, 3], [3, 1, None]),
        ("INSERT INTO t VALUES (nullif(x, 2), 0)", "INSERT INTO RETURN SELECT a FROM t ORDER BY a DESC NULLS FIRST", [1, 2, 3], [None, 3, 1]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN VALUES ((SELECT a FROM t ORDER BY a DESC LIMIT 1) - (SELECT a FROM t ORDER BY a LIMIT 1))", [3, 1, 2], [2]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN VALUES ((SELECT a FROM t ORDER BY a LIMIT 1 OFFSET 1))", [3, 1, 2], [2]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT a FROM t WHERE a IN (SELECT a FROM t ORDER BY a LIMIT 2)", [3, 1, 2], [1, 2]),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT 1 FROM t WHERE EXISTS (SELECT a FROM t LIMIT 1 OFFSET 3) LIMIT 1", [3, 1, 2], []),
        ("INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN (SELECT a FROM t ORDER BY a LIMIT 1) UNION ALL (SELECT a FROM t ORDER BY a DESC LIMIT 1)", [3, 1, 2], [1, 3]),
        ("INSERT INTO t SELECT a, b FROM t ORDER BY a LIMIT 1; INSERT INTO t VALUES (x, 0)", "INSERT INTO RETURN SELECT a FROM t", [3, 1, 2], [3, 3, 1, 1, 2]),
    ],
)  # fmt: skip
def test_statements_do_what_sql_says(
    iterate: str, terminate: str, given: list[int], expected: list[Any] | None
) -> None:
    found = over(body(iterate + ";", terminate + ";", tables=KEPT), [(x,) for x in given], INT)
    assert found == (expected if expected is not None else [{"a": 0, "b": 3}])


def test_a_column_hides_a_parameter_of_its_name() -> None:
    text = "CREATE AGGREGATE f (a INT) { TABLE t (a INT); ITERATE : { UPDATE t SET a = a + 1; INSERT INTO t VALUES (a); } TERMINATE : { INSERT INTO RETURN SELECT a FROM t; } }"
    assert over(text, [(5,), (7,)], INT) == [6, 7]


def test_without_initialize_the_first_row_is_like_the_others_and_without_iterate_the_later_ones_do_nothing() -> None:
    only_first = "CREATE AGGREGATE f (x INT) { TABLE t (a INT); INITIALIZE : { INSERT INTO t VALUES (x); } TERMINATE : { INSERT INTO RETURN SELECT a FROM t; } }"
    assert over(only_first, [(5,), (7,)], INT) == [5]
    assert over(only_first.replace("INITIALIZE", "ITERATE"), [(5,), (7,)], INT) == [5, 7]


def test_nulls_are_passed_in() -> None:
    text = body("INSERT INTO t VALUES (x, 0);", "INSERT INTO RETURN SELECT count(*) - count(a) FROM t;", tables=KEPT)
    assert over(text, [(None,), (1,), (None,)], INT) == [2]


def test_types_left_out_are_those_of_the_arguments() -> None:
    text = "CREATE AGGREGATE newest (a, b) { ITERATE : { INSERT INTO RETURN VALUES (a, b); } }"
    made = program(text, TEXT, REAL)
    assert made.arguments == (TEXT, REAL)
    assert made.dtype == pl.Struct([pl.Field("col1", TEXT), pl.Field("col2", REAL)])
    assert made.over([("x", 1.0), ("y", 2.0)]) == [{"col1": "y", "col2": 2.0}]


def test_columns_of_return_have_the_declared_names_and_types() -> None:
    text = "CREATE AGGREGATE f (x INT) : (low REAL, high REAL) { ITERATE : { INSERT INTO RETURN (low, high) VALUES (x - 1, x + 1); } }"
    assert over(text, [(5,)], INT) == [{"low": 4.0, "high": 6.0}]


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("WHERE w <= x", [9]),
        ("WHERE abs(w - x) < 100", [9]),
        ("WHERE w IN (x, 5)", [7, 9]),
        ("WHERE EXISTS (SELECT v.w FROM inwindow v WHERE inwindow.w <= x)", [9]),
        ("", []),
        ("WHERE w > 5", [5]),
        ("WHERE x = 9", []),
        ("WHERE x > 5 AND w > 5", [5]),
        ("WHERE w >= (SELECT max(v.w) FROM inwindow v)", []),
    ],
)
def test_a_delete_in_iterate_spares_the_new_row_where_it_compares_rows_with_it(where: str, left: list[int]) -> None:
    text = f"CREATE WINDOW AGGREGATE f (x INT) {{ TABLE inwindow (w INT); ITERATE : {{ DELETE FROM inwindow {where}; INSERT INTO RETURN SELECT w FROM inwindow; }} }}"
    assert over(text, [(5,), (7,), (9,)], INT) == left


def test_when_the_body_deletes_the_last_row_its_state_is_freed() -> None:
    run = program(
        "CREATE WINDOW AGGREGATE f (x INT) { TABLE s (n INT); TABLE inwindow (w INT);"
        " INITIALIZE : { INSERT INTO s VALUES (1); INSERT INTO RETURN SELECT n FROM s; }"
        " ITERATE : { UPDATE s SET n = n + 1; DELETE FROM inwindow WHERE x = 0; INSERT INTO RETURN SELECT n FROM s; }"
        " EXPIRE : { } }",
        INT,
    ).start()
    assert [run.take(i, (x,)) for i, x in enumerate((5, 5, 0, 5, 5))] == [[1], [2], [3], [1], [2]]


def test_expire_sees_the_row_that_leaves_and_its_arguments_and_the_state_is_freed_with_the_last() -> None:
    run = program(
        "CREATE WINDOW AGGREGATE f (x INT) { TABLE s (n INT); TABLE inwindow (w INT);"
        " INITIALIZE : { INSERT INTO s VALUES (100); INSERT INTO RETURN SELECT n FROM s; }"
        " ITERATE : { UPDATE s SET n = n + 1; INSERT INTO RETURN SELECT n FROM s; }"
        " EXPIRE : { INSERT INTO RETURN SELECT oldest() * 10 + x + count(*) FROM inwindow; } }",
        INT,
    ).start()
    assert [run.take(1, (5,)), run.take(2, (7,))] == [[100], [101]]
    assert run.expire(2) == [[57]]
    assert run.take(3, (9,)) == [102]
    assert run.expire(9) == [[79], [100]]
    assert run.alive == 0
    assert run.take(9, (1,)) == [100]


def test_a_row_the_body_deleted_does_not_expire() -> None:
    run = program(
        "CREATE WINDOW AGGREGATE f (x INT) { TABLE inwindow (w INT); ITERATE : { DELETE FROM inwindow WHERE w < x; }"
        " EXPIRE : { INSERT INTO RETURN VALUES (x); } }",
        INT,
    ).start()
    for tag, x in enumerate((3, 1, 2)):
        run.take(tag, (x,))
    assert run.expire(9) == [[3], [2]]


def test_a_window_version_calls_the_base_version_and_that_a_built_in_aggregate() -> None:
    base = "CREATE AGGREGATE sum (x INT) : INT { TABLE t (a INT); ITERATE : { INSERT INTO t VALUES (2 * x); } TERMINATE : { INSERT INTO RETURN SELECT sum(a) FROM t; } }"
    window = "CREATE WINDOW AGGREGATE sum (x INT) : INT { TABLE inwindow (w INT); ITERATE : { INSERT INTO RETURN SELECT sum(w) FROM inwindow; } }"
    assert over(base, [(1,), (2,)], INT) == [6]
    assert over(window, [(1,), (2,)], INT, sum=base) == [6]
    assert over(window, [(1,), (2,)], INT) == [3]


@pytest.mark.parametrize(
    ("iterate", "reason"),
    [
        ("INSERT INTO t VALUES (1 / x, 0)", "division by zero"),
        ("INSERT INTO t VALUES (x + 2147483647, 0)", "INT overflow"),
        ("INSERT INTO t VALUES (CAST('a' AS INT), x)", "can't be cast"),
        ("INSERT INTO t VALUES (1, 1), (2, 2); UPDATE t SET a = (SELECT b FROM t)", "several rows"),
    ],
)
def test_a_body_that_has_no_value_says_why(iterate: str, reason: str) -> None:
    made = program(body(iterate + ";", "INSERT INTO RETURN SELECT a FROM t;", tables=KEPT), INT)
    with pytest.raises(RowError, match=reason):
        made.over([(0,), (1,)])


def test_real_values_are_cut_off_where_a_column_is_int() -> None:
    text = body("INSERT INTO t VALUES (x, 0);", "INSERT INTO RETURN SELECT a FROM t;", tables=KEPT, parameters="x REAL")
    assert over(text, [(2.7,), (-2.7,)], REAL) == [2, -2]
