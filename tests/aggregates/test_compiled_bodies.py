"""Bodies written out as Python, and over columns, against the interpreter's functions: drawn bodies, equal answers and errors."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from jupyter_stream.aggregates.user.segments import over_segments
from jupyter_stream.aggregates.user.sql import SqlProgram
from jupyter_stream.aggregates.user.stepping import RowSteps
from jupyter_stream.aggregates.user.straight import straight
from jupyter_stream.binding.bind_body import bind_body
from jupyter_stream.errors import QueryError
from jupyter_stream.functions.scalar import RowError
from jupyter_stream.syntax import CreateAggregate, parse
from tests.oracle.search import searching

INT, BIGINT, REAL = pl.Int32(), pl.Int64(), pl.Float64()
TYPES = {"INT": INT, "BIGINT": BIGINT, "REAL": REAL}
SEEDS = st.integers(0, 2**32)
"""Of bodies: Hypothesis takes a second to draw one itself."""
SOME: dict[str, list[Any]] = {
    "INT": [None, 0, 1, -1, 2, 3, 7, -5, 2**31 - 1, -(2**31)],
    "BIGINT": [None, 0, 1, -1, 2, 5, 2**63 - 1, -(2**63), 2**62],
    "REAL": [None, 0.0, -0.0, 1.0, 0.1, 0.7, -2.5, 1e308, float("inf"), float("nan")],
}


def number(of: Random, columns: list[str], deep: int = 2) -> str:
    """A numeric expression over some columns."""
    if deep == 0 or of.random() < 0.3:
        return of.choice([*columns, *columns, *columns, "1", "0", "2", "-1", "0.5", "NULL"])

    def inner() -> str:
        return number(of, columns, deep - 1)

    def condition() -> str:
        compared = f"{inner()} {of.choice(['=', '<>', '<', '<=', '>', '>=', '<=>'])} {inner()}"
        other = f"{inner()} {of.choice(['=', '<'])} {inner()}"
        logic = f"({compared} {of.choice(['AND', 'OR'])} NOT ({other}))"
        return of.choice([compared, logic, f"{inner()} IS NULL", f"{inner()} IN (1, 2, NULL)"])

    kinds = [
        lambda: f"({inner()} {of.choice('+-*/%')} {inner()})", lambda: f"({inner()} {of.choice('+-*')} {inner()})",
        lambda: f"({inner()} div {inner()})", lambda: f"CASE WHEN {condition()} THEN {inner()} ELSE {inner()} END",
        lambda: f"{of.choice(['coalesce', 'greatest', 'least'])}({inner()}, {inner()})", lambda: f"abs({inner()})",
        lambda: f"(- {inner()})", lambda: f"CAST({inner()} AS {of.choice(['INT', 'BIGINT', 'REAL'])})",
    ]  # fmt: skip
    return of.choice(kinds)()


def conditions(of: Random, columns: list[str]) -> str:
    """A WHERE, mostly none."""
    if of.randint(0, 3):
        return ""
    sign = of.choice(["<", ">=", "=", "<>"])
    return f" WHERE {number(of, columns)} {sign} {number(of, columns)}"


def bodies(of: Random, window: bool) -> tuple[str, list[str]]:
    """An aggregate of one or two parameters, and their types."""
    kinds = of.choices(sorted(TYPES), k=of.randint(1, 2))
    parameters = ["x", "y"][: len(kinds)]
    columns = [f"c{i}" for i in range(of.randint(1, 3))]
    types = [of.choice(sorted(TYPES)) for _ in columns]
    read = [*parameters, *columns]
    if window:
        read += ["oldest().w0"]

    def value(names: list[str]) -> str:
        return number(of, names)

    def returns() -> str:
        kind = of.choice(["values", "select", "fold"] if window else ["values", "select"])
        if kind == "values":
            return f"INSERT INTO RETURN VALUES ({value(parameters)}){conditions(of, parameters)};"
        if kind == "fold":
            what = of.choice(["count(*)", "sum(c0)", "max(w0)", "min(w0) FILTER (WHERE w0 > 0)", "avg(w0)"])
            return f"INSERT INTO RETURN SELECT {what} FROM {'inwindow' if 'w0' in what else 't'};"
        return f"INSERT INTO RETURN SELECT {value(read)} FROM t{conditions(of, read)};"

    def update() -> str:
        chosen = of.sample(columns, of.randint(1, len(columns)))
        simple = of.random() < 0.5
        known = [["{c} + x", "{c} + 1", "{c} - x", "least({c}, x)", "greatest({c}, x)", "x"], [value(read)]]
        sums = [f"{c} = {of.choice(known[not simple]).format(c=c)}" for c in chosen]
        return f"UPDATE t SET {', '.join(sums)}{'' if simple else conditions(of, read)};"

    def anything() -> str:
        kind = of.choice(["update", "update", "return", *(["insert", "delete", "expel"] if window else [])])
        made = {
            "insert": lambda: (
                f"INSERT INTO t VALUES ({', '.join(value(parameters) for _ in columns)}){conditions(of, parameters)};"
            ),
            "delete": lambda: f"DELETE FROM t{conditions(of, read)};",
            "expel": lambda: f"DELETE FROM inwindow WHERE w0 {of.choice(['<=', '=', '>'])} {value(parameters)};",
            "update": update,
            "return": returns,
        }
        return made[kind]()

    first = f"INSERT INTO t VALUES ({', '.join(value(parameters) for _ in columns)});"
    later = " ".join(anything() for _ in range(of.randint(1, 2)))
    states = f"INITIALIZE : {{ {first} {returns()} }} ITERATE : {{ {later} }}"
    if of.random() < 0.5:
        states += f" TERMINATE : {{ {returns()} }}"
    tables = f"TABLE t ({', '.join(f'{c} {k}' for c, k in zip(columns, types, strict=True))});"
    if window:
        tables += f" TABLE inwindow ({', '.join(f'w{i} {k}' for i, k in enumerate(kinds))});"
        states += f" EXPIRE : {{ {anything()} }}"
    listed = ", ".join(f"{p} {k}" for p, k in zip(parameters, kinds, strict=True))
    return f"CREATE {'WINDOW ' * window}AGGREGATE f ({listed}) : REAL {{ {tables} {states} }}", kinds


def bound(text: str, kinds: list[str]) -> tuple[SqlProgram, SqlProgram]:
    """The aggregate written out, and interpreted."""
    (statement,) = parse(text)
    assert isinstance(statement, CreateAggregate)
    try:
        body = bind_body(statement, [TYPES[k] for k in kinds])
    except QueryError:
        assume(False)
        raise
    return SqlProgram(body), SqlProgram(body, compiled=False)


def rows_of(data: st.DataObject, kinds: list[str]) -> list[tuple[Any, ...]]:
    """Rows, in half of the cases without NULLs."""
    nulls = data.draw(st.booleans())
    small = data.draw(st.booleans())
    of = [[v for v in SOME[k] if (nulls or v is not None) and (not small or v is None or abs(v) < 10)] for k in kinds]
    return data.draw(st.lists(st.tuples(*(st.sampled_from(v) for v in of)), min_size=1, max_size=8))


def told(run: Callable[[], Any]) -> str:
    """What it gives, or what is wrong. Texts, since NaN and -0.0 and 1 are to be told from others."""
    try:
        return repr(run())
    except RowError as error:
        return f"error: {error}"


@searching
@given(st.data())
def test_rows_of_one_group_give_the_same_written_out_as_interpreted(data: st.DataObject) -> None:
    text, kinds = bodies(Random(data.draw(SEEDS)), window=False)
    written, interpreted = bound(text, kinds)
    event(f"straight: {straight(written.body) is not None}")
    rows = rows_of(data, kinds)
    assert told(lambda: written.over(rows)) == told(lambda: interpreted.over(rows)), text


@searching
@given(st.data())
def test_many_groups_at_once_give_what_each_gives_by_itself(data: st.DataObject) -> None:
    text, kinds = bodies(Random(data.draw(SEEDS)), window=False)
    written, interpreted = bound(text, kinds)
    groups = [rows_of(data, kinds) for _ in range(data.draw(st.integers(1, 4)))]
    frame = pl.DataFrame(
        [r for g in groups for r in g], schema={f"{i}": TYPES[k] for i, k in enumerate(kinds)}, orient="row"
    )
    lengths = np.array([len(g) for g in groups])
    found = over_segments(written, frame.get_columns(), lengths)
    at_once = written.at_once(frame.get_columns(), lengths, few=0)
    event(f"over columns: {at_once is not None}")
    for one, by_columns in zip(found, at_once or [], strict=False):
        assert by_columns is None or repr(by_columns) == repr(one), text
    assert [repr(v) if e is None else f"error: {e}" for v, e in found] == [
        told(lambda g=g: interpreted.over(g)) for g in groups
    ], text


@searching
@given(st.data())
def test_rows_that_come_and_leave_give_the_same_written_out_as_interpreted(data: st.DataObject) -> None:
    text, kinds = bodies(Random(data.draw(SEEDS)), window=True)
    runs = [p.start() for p in bound(text, kinds)]
    rows = rows_of(data, kinds)
    for tag, row in enumerate(rows):
        steps = [lambda r: r.take(tag, row), lambda r: r.expire(tag - 1), lambda r: r.answer(), lambda r: r.alive]  # noqa: B023  # called at once
        given = RowSteps([tag], [tag - 1], [row], [True])
        if data.draw(st.booleans()):
            steps = [lambda r: [(None if v is None else list(v), e) for v, e in r.steps(given)]]  # noqa: B023  # called at once
        for step in steps:
            one, two = (told(lambda r=r: step(r)) for r in runs)  # noqa: B023  # called at once
            assert one == two, text
            if one.startswith("error"):
                break


@pytest.mark.parametrize(
    ("change", "expected"),
    [("c + x", 3), ("least(c, x)", 1), ("CASE WHEN x > c THEN x ELSE c END", 2), ("x * 10", 20), ("c", 1)],
)
def test_straight_line_bodies_are_recognized(change: str, expected: int) -> None:
    text = (
        f"CREATE AGGREGATE f (x INT) {{ TABLE t (c INT); INITIALIZE : {{ INSERT INTO t VALUES (x); }} "
        f"ITERATE : {{ UPDATE t SET c = {change}; }} TERMINATE : {{ INSERT INTO RETURN SELECT c FROM t; }} }}"
    )
    written, _ = bound(text, ["INT"])
    assert straight(written.body) is not None
    assert written.over([(1,), (2,)]) == [expected]
