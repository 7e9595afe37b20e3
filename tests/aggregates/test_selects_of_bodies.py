"""SELECTs of bodies written out as loops, inside expressions too, against the interpreter: drawn bodies, equal answers."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.aggregates.user.body import Action
from jupyter_stream.aggregates.user.clauses import clause
from tests.aggregates.test_compiled_bodies import SEEDS, bound, number, rows_of, told
from tests.oracle.search import searching
from tests.tiers import only, thinned

TABLES = {"t": ["c0", "c1"], "u": ["d0", "d1"], "inwindow": ["w0", "w1"]}


class Drawn:
    """Parts of a body that reads several rows of two tables and of the window, in its statements and inside their expressions."""

    def __init__(self, of: Random) -> None:
        self.of = of

    def value(self, names: list[str]) -> str:
        """A number, mostly a column's or one that can't fail."""
        plain = [*names, *names, "1", "0", f"{self.of.choice(names)} % 3", f"hash({self.of.choice(names)}, 1) % 2"]
        return self.of.choice(plain) if self.of.random() < 0.7 else number(self.of, names, 1)

    def compared(self, names: list[str], deep: int) -> str:
        """A condition, perhaps with a SELECT in it."""
        sign = self.of.choice(["=", "=", "=", "<", "<>", "<=>"])
        if deep == 0 or self.of.random() < 0.5:
            return f"{self.value(names)} {sign} {self.value(names)}"
        kind = self.of.choice(["EXISTS", "NOT EXISTS", "IN", "NOT IN", "="])
        if "EXISTS" in kind:
            return f"{kind} ({self.select(names, deep - 1, self.value)})"
        if "IN" in kind:
            return f"{self.value(names)} {kind} ({self.select(names, deep - 1, self.value)})"
        return f"{self.value(names)} {sign} ({self.select(names, deep - 1, self.one)})"

    def one(self, names: list[str]) -> str:
        """What mostly gives one row."""
        column = self.of.choice(names)
        return self.of.choice(["count(*)", f"sum({column})", f"max({column})", f"min({column})", self.value(names)])

    def where(self, names: list[str], deep: int) -> str:
        """Several conditions."""
        parts = [self.compared(names, deep) for _ in range(self.of.choice([0, 1, 1, 2, 3]))]
        made = " ".join(f"{self.of.choice(['AND', 'AND', 'AND', 'OR'])} {part}" for part in parts)
        return made and " WHERE " + made.split(" ", 1)[1]

    def select(self, names: list[str], deep: int, item: Any) -> str:
        """A SELECT from one table or two, which may read what is around it."""
        tables = self.of.sample(sorted(TABLES), self.of.choice([1, 1, 2]))
        own = [c for table in tables for c in TABLES[table]]
        inside = [*own, *(n for n in names if n not in own)]
        return f"SELECT {item(own)} FROM {', '.join(tables)}{self.where(inside, deep)}"

    def statement(self) -> str:
        """One of them."""
        kind = self.of.choice(["insert", "update", "update", "delete", "return", "return"])
        arguments, table = ["x", "y"], self.of.choice(["t", "u"])
        inside = [*TABLES[table], *arguments]
        if kind == "insert":
            values = f"{self.value(arguments)}, {self.value(arguments)}"
            return f"INSERT INTO {table} VALUES ({values}){self.where(arguments, 2)};"
        if kind == "update":
            changed = self.of.choice(TABLES[table])
            return f"UPDATE {table} SET {changed} = {self.value(inside)}{self.where(inside, 2)};"
        if kind == "delete":
            return f"DELETE FROM {table}{self.where(inside, 2)};"
        return f"INSERT INTO RETURN {self.select(arguments, 2, self.of.choice([self.value, self.one]))};"


def body(of: Random) -> str:
    """An aggregate whose tables grow."""
    drawn = Drawn(of)
    first = "INSERT INTO t VALUES (x, y); INSERT INTO u VALUES (y, x); INSERT INTO RETURN SELECT count(*) FROM t, u;"
    states = [" ".join(drawn.statement() for _ in range(of.randint(1, 3))) for _ in range(3)]
    return (
        "CREATE WINDOW AGGREGATE f (x BIGINT, y BIGINT) : REAL { TABLE t (c0 BIGINT, c1 BIGINT); TABLE u (d0 BIGINT, d1 BIGINT); "
        f"TABLE inwindow (w0 BIGINT, w1 BIGINT); INITIALIZE : {{ {first} {states[0]} }} "
        f"ITERATE : {{ {first} {states[1]} }} EXPIRE : {{ {states[2]} }} }}"
    )


@searching
@given(st.data())
def test_selects_give_the_same_written_out_as_interpreted(data: st.DataObject) -> None:
    of = Random(data.draw(SEEDS))
    text = body(of)
    runs = [p.start() for p in bound(text, ["BIGINT", "BIGINT"])]
    for tag, row in enumerate(rows_of(data, ["BIGINT", "BIGINT"])):
        for step, what in (("take", (tag, row)), ("expire", (tag - 2,))):
            one, two = (told(partial(getattr(run, step), *what)) for run in runs)
            assert one == two, text
            if one.startswith("error"):
                return


COUNTS = """CREATE WINDOW AGGREGATE f (x BIGINT) : BIGINT {{ TABLE t (h BIGINT, n BIGINT); TABLE u (h BIGINT, n BIGINT);
    TABLE inwindow (w BIGINT); INITIALIZE : ITERATE : {{ {} }}
    EXPIRE : {{ DELETE FROM t WHERE NOT EXISTS (SELECT 1 FROM u); INSERT INTO RETURN VALUES (1); }} }}"""


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO t VALUES (x % 13, 0) WHERE NOT EXISTS (SELECT n FROM t WHERE h = x % 13);",
        "UPDATE t SET n = n + 1 WHERE h IN (SELECT h FROM u WHERE u.n > t.n);",
        "UPDATE t SET n = (SELECT max(n) FROM u WHERE u.h = t.h);",
        "INSERT INTO RETURN SELECT least(t.n, u.n) FROM t, u WHERE t.h = x % 13 AND u.h = x % 17;",
        "INSERT INTO RETURN SELECT sum(n) FROM t WHERE h = oldest().w AND EXISTS (SELECT w FROM inwindow WHERE w < h);",
        "DELETE FROM inwindow WHERE w IN (SELECT n FROM t);",
    ],
)
def test_none_of_it_is_left_to_the_interpreter(statement: str) -> None:
    def interpreted(action: Action) -> NoReturn:
        raise AssertionError(action)

    written, _ = bound(COUNTS.format(statement), ["BIGINT"])
    for state in ("iterate", "expire"):
        clause(written.body, getattr(written.body, state), state, interpreted)


def test_a_select_is_looked_up_where_it_is_read_and_not_before() -> None:
    # there are two rows: as one value they are an error, and nobody asks for it while x is positive
    text = COUNTS.format(
        "INSERT INTO t VALUES (1, 2), (2, 3); INSERT INTO RETURN VALUES (7) WHERE x > 0 OR x = (SELECT n FROM t);"
    )
    for program in bound(text, ["BIGINT"]):
        run = program.start()
        assert run.take(0, (1,)) == [7]
        assert told(lambda run=run: run.take(1, (-1,))).endswith("a SELECT inside an expression gave several rows")


def test_what_is_unknown_of_one_table_does_not_spare_the_condition_on_the_other() -> None:
    text = COUNTS.format(
        "INSERT INTO t VALUES (NULL, 1); INSERT INTO u VALUES (1, x);"
        "INSERT INTO RETURN SELECT t.n FROM t, u WHERE t.h = 1 AND 10 % u.n = 0;"
    )
    for program in bound(text, ["BIGINT"]):
        run = program.start()
        assert run.take(0, (1,)) == []
        assert told(lambda run=run: run.take(1, (0,))).endswith("division by zero")


@pytest.mark.parametrize("compared", only(["c = x", "c <= x", "c = x AND c + 1 > x"], "c <= x"))
@pytest.mark.parametrize(
    "statement",
    thinned(
        [
            "UPDATE t SET c = x WHERE {}",
            "DELETE FROM t WHERE {}",
            "INSERT INTO t SELECT c FROM t, u WHERE {}",
            "INSERT INTO t VALUES (1) WHERE EXISTS (SELECT c FROM t WHERE {})",
        ]
    ),
)
def test_conditions_of_thousands_of_parts_work(statement: str, compared: str) -> None:
    long = statement.format(" AND ".join([compared] * 2_000))
    text = (
        "CREATE AGGREGATE f (x BIGINT) : BIGINT { TABLE t (c BIGINT); TABLE u (d BIGINT); "
        f"INITIALIZE : ITERATE : {{ INSERT INTO t VALUES (x); {long}; INSERT INTO RETURN SELECT count(*) FROM t; }} }}"
    )
    written, interpreted = bound(text, ["BIGINT"])
    assert written.over([(1,), (2,)]) == interpreted.over([(1,), (2,)])
