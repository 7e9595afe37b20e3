"""`:name` and `{{ expression }}` are values, never text."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable

import numpy as np
import pandas as pd
import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.core.schema import INTERVAL, TIMESTAMP
from jupyter_stream.errors import QueryError
from jupyter_stream.functions import Literal
from jupyter_stream.plan.logical import BoundQuery, Project
from jupyter_stream.syntax import CreateStream, parse

MOMENT = dt.datetime(2024, 1, 2, 3, 4, 5, 6)


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        ("x'; DROP STREAM s; --", Literal("x'; DROP STREAM s; --", pl.String())),
        (True, Literal(True, pl.Boolean())),
        (np.bool_(False), Literal(False, pl.Boolean())),
        (7, Literal(7, pl.Int32())),
        (2**31, Literal(2**31, pl.Int64())),
        (-(2**63), Literal(-(2**63), pl.Int64())),
        (np.int8(7), Literal(7, pl.Int32())),
        (1.5, Literal(1.5, pl.Float64())),
        (np.float32(0.5), Literal(0.5, pl.Float64())),
        (decimal.Decimal("1.25"), Literal(1.25, pl.Float64())),
        (MOMENT, Literal(MOMENT, TIMESTAMP)),
        (MOMENT.replace(tzinfo=dt.timezone(dt.timedelta(hours=2))), Literal(MOMENT - dt.timedelta(hours=2), TIMESTAMP)),
        (pd.Timestamp(MOMENT), Literal(MOMENT, TIMESTAMP)),
        (np.datetime64("2024-01-02T03:04:05.000006789"), Literal(MOMENT, TIMESTAMP)),
        (np.datetime64("2024-01-02"), Literal(dt.date(2024, 1, 2), pl.Date())),
        (dt.date(2024, 1, 2), Literal(dt.date(2024, 1, 2), pl.Date())),
        (dt.timedelta(seconds=3), Literal(dt.timedelta(seconds=3), INTERVAL)),
        (pd.Timedelta("3s"), Literal(dt.timedelta(seconds=3), INTERVAL)),
        (np.timedelta64(3, "s"), Literal(dt.timedelta(seconds=3), INTERVAL)),
        (None, Literal(None, pl.Null())),
        (pd.NaT, Literal(None, pl.Null())),
        (pd.NA, Literal(None, pl.Null())),
        (np.datetime64("NaT"), Literal(None, pl.Null())),
        (b"ab", Literal(b"ab", pl.Binary())),
    ],
)
def test_a_value_becomes_a_typed_literal(query: Callable[..., BoundQuery], value: object, literal: Literal) -> None:
    plan = query("SELECT :v AS v, {{ v }} AS w FROM M", {"v": value}).plan
    assert isinstance(plan, Project)
    assert plan.items == (("v", literal), ("w", literal))
    assert type(plan.items[0][1].value) is type(literal.value)  # type: ignore[union-attr]


@pytest.mark.parametrize("value", [[1], {"a": 1}, object(), 10**40, 1j])
def test_a_value_without_a_literal_is_refused(mistake: Callable[..., QueryError], value: object) -> None:
    error = mistake("SELECT len FROM M WHERE len = :v", {"v": value})
    assert (error.line, error.column, error.width) == (1, 31, 2)


@pytest.mark.parametrize(
    "window",
    [
        "[RANGE :d SLIDE {{ s }}]",
        "[RANGE :d, SLIDE :text]",
        "[RANGE :five MINUTES SLIDE {{ thirty }} SECONDS]",
        "[RANGE INTERVAL :five MINUTE SLIDE INTERVAL :s]",
        "[RANGE '5 minutes' SLIDE '30' SECONDS]",
        "[RANGE :np SLIDE :pandas]",
    ],
)
def test_a_parameter_stands_for_a_length_of_time(plan: Callable[..., str], window: str) -> None:
    values = {
        "d": dt.timedelta(minutes=5), "s": dt.timedelta(seconds=30), "text": "30 seconds", "five": 5, "thirty": 30,
        "np": np.timedelta64(5, "m"), "pandas": pd.Timedelta("30s"),
    }  # fmt: skip
    assert "[RANGE 5 MINUTES SLIDE 30 SECONDS]" in plan(f"SELECT count(*) FROM M {window}", values)


def test_the_text_between_the_braces_reaches_the_function_as_it_is() -> None:
    asked: list[str] = []

    def value(expression: str) -> object:
        asked.append(expression)
        return 1

    parse("""SELECT {{ f("}}", ';')[0] }}, {{ {"a": {"b": 1}}["a"]["b"] }}, :n FROM s WHERE {{x}} > 0""", value)
    assert asked == ["f(\"}}\", ';')[0]", '{"a": {"b": 1}}["a"]["b"]', "n", "x"]


def test_offsets_stay_true_behind_a_parameter(mistake: Callable[..., QueryError]) -> None:
    error = mistake("SELECT {{ [1,\n2][0] }}, {{ 1 }} + nosuch FROM M", eval)
    assert (error.line, error.column) == (2, 21)


def test_a_parameter_inside_quotes_is_text(plan: Callable[..., str]) -> None:
    assert plan("SELECT ':x' AS a, '{{ x }}' AS b FROM M", {"x": 1}) == "Project(a=':x', b='{{ x }}') <- M"


def test_source_and_options_take_parameters() -> None:
    (made,) = parse(
        "CREATE STREAM s SOURCE {{ p }} WITH (a = :n, b = {{ t }}, c = :f)",
        {"p": "file://x", "n": 3, "t": "y", "f": True},
    )
    assert isinstance(made, CreateStream)
    assert made.uri == "file://x"
    assert {o.name.text: o.value for o in made.options} == {"a": "3", "b": "y", "c": "true"}


def test_braces_inside_the_quotes_of_a_source_are_explained(mistake: Callable[..., QueryError]) -> None:
    error = mistake("CREATE STREAM s SOURCE 'file://{{ p }}'", {"p": "x"})
    assert error.hint is not None and "SOURCE {{ expression }}" in error.hint


@pytest.mark.parametrize(
    ("parameters", "message", "hint"),
    [
        (None, "there is no value for limt", "Pass it"),
        ({}, "there is no parameter called limt", None),
        ({"limit": 3}, "there is no parameter called limt", "Did you mean limit?"),
        (eval, "the notebook has no variable called limt", "Run a cell that sets limt first."),
    ],
)
def test_an_unknown_parameter_names_the_nearest(
    mistake: Callable[..., QueryError], parameters: object, message: str, hint: str | None
) -> None:
    error = mistake("SELECT len FROM M\nWHERE len > :limt", parameters)
    assert (error.line, error.column, error.width, error.message) == (2, 13, 5, message)
    assert (error.hint is None) == (hint is None) and (hint or "") in (error.hint or "")


def test_an_expression_that_fails_says_how(mistake: Callable[..., QueryError]) -> None:
    assert mistake("SELECT {{ 1 / 0 }} FROM M", eval).message == "1 / 0 failed: ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    "items", [["a", "b"], ("a", "b"), {"a", "b"}, np.array(["a", "b"]), pd.Series(["a", "b"]), pl.Series(["a", "b"])]
)
@pytest.mark.parametrize(
    "condition", ["k IN :items", "k IN (:items)", "k IN ({{ items }}, 'z')", "NOT k NOT IN (:items)"]
)
def test_a_list_in_in_stands_for_its_items(items: object, condition: str) -> None:
    rows = pl.DataFrame({"ts": [1, 2, 3], "k": ["a", "b", "c"]})
    with Session({"rows": rows, "items": items}) as session:
        session.execute("CREATE STREAM s (ts BIGINT, k STRING) ORDER BY ts SOURCE 'frame://rows'")
        (query,) = session.execute(f"SELECT k FROM s WHERE {condition}")
        assert query.wait(200) and query.to_polars()["k"].to_list() == ["a", "b"]


def test_nothing_is_in_an_empty_list_and_a_parameter_may_begin_an_expression() -> None:
    rows = pl.DataFrame({"ts": [1, 2, 3]})
    with Session({"rows": rows, "empty": [], "one": 1}) as session:
        session.execute("CREATE STREAM s (ts BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        a, b, c = session.execute(
            "SELECT ts FROM s WHERE ts IN :empty; SELECT ts FROM s WHERE ts NOT IN (:empty);"
            "SELECT ts FROM s WHERE ts IN (:one + 1)"
        )
        assert all(q.wait(200) for q in (a, b, c))
        assert (a.to_polars().height, b.to_polars().height, c.to_polars()["ts"].to_list()) == (0, 3, [2])
