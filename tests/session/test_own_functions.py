"""Functions of a user's own, in SQL and in Python: in every clause, with their failures, redeclared and dropped."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

import jupyter_stream
from jupyter_stream.errors import QueryError
from jupyter_stream.functions import Column
from jupyter_stream.functions.own import PYTHON
from jupyter_stream.session.session import Session

START = datetime(2024, 1, 1)
SIZES = [1.0, 4.0, -1.0, None, 16.0, 25.0]
READ = "CREATE STREAM p (ts TIMESTAMP, ip STRING, size DOUBLE) ORDER BY ts SOURCE 'frame://rows';"


@pytest.fixture
def session() -> Iterator[Session]:
    rows = pl.DataFrame(
        {"ts": [START + timedelta(seconds=20 * i) for i in range(6)], "ip": list("ababab"), "size": SIZES},
        schema={"ts": pl.Datetime("us"), "ip": pl.String(), "size": pl.Float64()},
    )
    with Session({"rows": rows}) as opened:
        opened.run(READ)
        yield opened


def answer(session: Session, text: str) -> list[tuple[Any, ...]]:
    query = session.execute(text)[-1]
    query.wait(200)
    assert query.status == "finished", query.snapshot().error
    return query.to_polars().rows()


def test_a_python_function_is_called_row_by_row_and_not_with_null(session: Session) -> None:
    asked = []

    @jupyter_stream.function
    def doubled(x: float) -> float:
        asked.append(x)
        return 2 * x

    assert [v for (v,) in answer(session, "SELECT DOUBLED(size) AS v FROM p")] == [2.0, 8.0, -2.0, None, 32.0, 50.0]
    assert None not in asked


def test_a_parameter_that_admits_none_is_given_it(session: Session) -> None:
    @jupyter_stream.function
    def or_zero(x: float | None) -> float:
        return 0.0 if x is None else x

    assert [v for (v,) in answer(session, "SELECT or_zero(size) AS v FROM p")] == [1.0, 4.0, -1.0, 0.0, 16.0, 25.0]


@pytest.mark.parametrize("vectorised", [False, True])
def test_rows_it_fails_on_go_to_errors_with_what_it_raised(session: Session, vectorised: bool) -> None:
    def by_arrays(x: Any) -> Any:
        if (x < 0).any():
            raise ValueError("negative")
        return np.sqrt(x)

    made = by_arrays if vectorised else math.sqrt
    jupyter_stream.function(name="root", arguments=[float], returns=float, vectorised=vectorised)(made)
    query = session.execute("SELECT root(size) AS r FROM p")[-1]
    query.wait(200)
    assert query.to_polars()["r"].to_list() == [1.0, 2.0, None, 4.0, 5.0]
    (reason,) = query.errors["reason"].to_list()
    assert reason.startswith("root: ValueError: ")


def test_a_vectorised_function_is_given_arrays(session: Session) -> None:
    given = []

    @jupyter_stream.function
    def plus_one(x: np.ndarray) -> float:  # type: ignore[type-arg]
        given.append(type(x))
        return x + 1  # type: ignore[return-value]

    answer(session, "SELECT plus_one(size) AS v FROM p")
    assert set(given) == {np.ndarray}


def test_functions_stand_in_every_clause(session: Session) -> None:
    @jupyter_stream.function
    def bucket(x: float) -> int:
        return int(x // 10)

    session.run("CREATE FUNCTION half (x DOUBLE) : DOUBLE AS x / 2")
    found = answer(
        session,
        "SELECT bucket(size) AS b, sum(half(size)) AS s, bucket(sum(size)) AS t FROM p [RANGE 1 HOUR TUMBLING] "
        "WHERE half(size) > 0 GROUP BY bucket(size) HAVING bucket(sum(size)) >= 0",
    )
    assert sorted(r[2:] for r in found) == [(0, 2.5, 0), (1, 8.0, 1), (2, 12.5, 2)]


def test_functions_stand_in_the_bodies_of_aggregates_and_an_error_there_is_of_its_row(session: Session) -> None:
    @jupyter_stream.function
    def root(x: float) -> float:
        return math.sqrt(x)

    session.run(
        "CREATE AGGREGATE roots (x DOUBLE) : DOUBLE { TABLE t (s DOUBLE); INITIALIZE : { INSERT INTO t VALUES (root(x)); } "
        "ITERATE : { UPDATE t SET s = s + root(x); } TERMINATE : { INSERT INTO RETURN SELECT s FROM t; } }"
    )
    assert answer(session, "SELECT ip, roots(size) AS s FROM p [RANGE 1 HOUR TUMBLING] WHERE size > 0 GROUP BY ip")
    query = session.execute("SELECT roots(size) AS s FROM p [RANGE 1 HOUR TUMBLING] WHERE size <= 4")[-1]
    query.wait(200)
    assert query.to_polars().height == 0
    assert "root: ValueError" in query.errors["reason"][0]


def test_a_function_in_sql_is_its_expression(session: Session) -> None:
    session.run("CREATE FUNCTION area (w DOUBLE, h DOUBLE) : INT AS w * h; CREATE FUNCTION square (x) AS area(x, x)")
    assert answer(session, "SELECT square(size) AS s FROM p WHERE size > 0")[:2] == [(1,), (16,)]
    explained = str(session.execute("EXPLAIN SELECT square(size) AS s FROM p")[0])
    assert "size * size" in explained


def test_sparks_way_of_writing_a_function_is_understood(session: Session) -> None:
    session.run("CREATE OR REPLACE FUNCTION half (x DOUBLE) RETURNS DOUBLE RETURN x / 2")
    assert answer(session, "SELECT half(size) AS h FROM p")[0] == (0.5,)


def test_a_query_goes_on_with_the_function_it_was_started_with(session: Session) -> None:
    jupyter_stream.function(lambda x: x + 1, name="step", arguments=[float], returns=float)
    query = session.execute("SELECT step(size) AS v FROM p", paused=True)[-1]
    jupyter_stream.function(lambda x: x + 100, name="step", arguments=[float], returns=float)
    query.resume()
    query.wait(200)
    assert query.to_polars()["v"][0] == 2.0
    assert answer(session, "SELECT step(size) AS v FROM p")[0] == (101.0,)


def test_the_same_text_with_another_function_is_another_query(session: Session) -> None:
    asked = []
    for _ in range(2):
        jupyter_stream.function(lambda x: x + 1, name="step", arguments=[float], returns=float)
        asked += [session.execute("SELECT step(size) AS v FROM p", name="q", paused=True)[-1] for _ in range(2)]
    assert asked[0] is asked[1] is not asked[2]
    assert asked[2] is asked[3]


def test_two_functions_of_one_name_are_not_the_same_step() -> None:
    column, made = Column("x", pl.Float64()), []
    for _ in range(2):
        jupyter_stream.function(lambda x: x + 1, name="step", arguments=[float], returns=float)
        made.append(PYTHON.pop("step"))
    assert made[0].bind([column]) == made[0].bind([column])
    assert made[0].bind([column]) != made[1].bind([column])


def test_dropped_functions_are_unknown_and_said_so(session: Session) -> None:
    session.run("CREATE FUNCTION half (x DOUBLE) AS x / 2")
    assert "x / 2" in str(session.execute("DESCRIBE FUNCTION half")[0])
    session.run("DROP FUNCTION half; DROP FUNCTION IF EXISTS half")
    with pytest.raises(QueryError, match="no function called half"):
        session.run("SELECT half(size) FROM p")
    with pytest.raises(QueryError, match="no function of yours called half"):
        session.run("DROP FUNCTION half")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("CREATE FUNCTION upper (x) AS x", "built-in function"),
        ("CREATE FUNCTION median (x) AS x", "built-in aggregate"),
        ("CREATE FUNCTION f (x INT) AS y", "no column called y"),
        ("CREATE FUNCTION f (x INT) AS f(x)", "can't call itself"),
        ("CREATE FUNCTION f (x INT) AS sum(x)", "this is an aggregate"),
        ("CREATE FUNCTION f (x INT)", "AS is missing"),
        ("CREATE FUNCTION f (x INT, x INT) AS x", "appears twice"),
        ("CREATE FUNCTION f (x STRING) : ARRAY<INT> AS x", "f is ARRAY<INT>"),
    ],
)
def test_mistakes_in_a_function_are_told_with_their_place(session: Session, text: str, says: str) -> None:
    with pytest.raises(QueryError, match=says) as raised:
        session.run(text)
    assert raised.value.line == 1


def test_values_of_another_type_are_errors_of_their_rows(session: Session) -> None:
    @jupyter_stream.function
    def whole(x: float) -> int:
        return x / 2  # type: ignore[return-value]

    query = session.execute("SELECT whole(size) AS v FROM p WHERE size > 0")[-1]
    query.wait(200)
    assert query.to_polars()["v"].to_list() == [2, 8]
    assert query.errors["reason"].to_list()[0] == "whole: it returned 0.5, which is not a value of type BIGINT"


def test_arrays_of_another_length_are_told(session: Session) -> None:
    jupyter_stream.function(lambda x: x[:1], name="first_one", arguments=[float], returns=float, vectorised=True)
    query = session.execute("SELECT first_one(size) AS v FROM p WHERE size > 0")[-1]
    query.wait(200)
    assert query.errors["reason"].to_list() == ["first_one: it returned 1 values for 4 rows"] * 4


def test_a_call_that_stands_in_several_columns_is_made_once_for_a_row() -> None:
    calls = []

    @jupyter_stream.function
    def noted(n: int) -> int:
        calls.append(n)
        return n

    with jupyter_stream.Session({"rows": pl.DataFrame({"n": [1, 2, 3]})}) as session:
        (query,) = session.execute("SELECT noted(n) + 1 AS a, noted(n) * 2 AS b FROM rows WHERE n > 1")
        assert query.wait(200)
        assert sorted(query.to_polars().rows()) == [(3, 4), (4, 6)]
    assert sorted(calls) == [2, 3]
