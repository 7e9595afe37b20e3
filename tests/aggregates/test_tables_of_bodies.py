"""Bodies with tables of more than one row in one loop over many rows: what they give is what the interpreter gives row by row."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from random import Random
from typing import Final, NoReturn

import polars as pl
import pytest

from jupyter_stream import Query, Session
from jupyter_stream.aggregates.user.lookups import places
from jupyter_stream.aggregates.user.segments import Outcome
from jupyter_stream.aggregates.user.sql import SqlProgram, SqlRun
from jupyter_stream.aggregates.user.stepping import RowSteps, one_by_one
from jupyter_stream.binding.bind_body import bind_body
from jupyter_stream.checkpoints.arena import Arena
from jupyter_stream.checkpoints.state import Anchors, put_back, taken
from jupyter_stream.functions.scalar import RowError
from jupyter_stream.syntax import CreateAggregate, parse

INT: Final = pl.Int32()
STATEMENTS: Final = [
    "INSERT INTO t VALUES (x % 3, 0) WHERE NOT EXISTS (SELECT n FROM t WHERE h = x % 3);",
    "INSERT INTO t VALUES (x, y), (y, x);",
    "INSERT INTO t VALUES (x, 2147483600) WHERE y > 2;",
    "INSERT INTO t SELECT h, n FROM u WHERE n > 1;",
    "INSERT INTO u VALUES (y, x);",
    "INSERT INTO u SELECT n, h FROM t WHERE h = y;",
    "UPDATE t SET n = n + 1 WHERE h = x % 3;",
    "UPDATE t SET n = n + 50 WHERE h = x AND n > 1;",
    "UPDATE t SET n = (SELECT max(n) FROM u) WHERE h = x;",
    "UPDATE t SET h = h + 1 WHERE h = y;",
    "UPDATE u SET n = 10 % n WHERE h = x;",
    "UPDATE u SET n = n + x;",
    "DELETE FROM t WHERE h = y AND n > 0;",
    "DELETE FROM u WHERE n < 0;",
    "DELETE FROM inwindow WHERE w = 1;",
    "INSERT INTO RETURN SELECT least(t.n, u.n) FROM t, u WHERE t.h = x % 3 AND u.h = y;",
    "INSERT INTO RETURN SELECT u.n FROM t, u WHERE t.h = u.n AND t.n = x;",
    "INSERT INTO RETURN SELECT n FROM t WHERE h = x AND 7 % n > 0;",
    "INSERT INTO RETURN SELECT n FROM t WHERE x IN (SELECT n FROM u WHERE h = y);",
    "INSERT INTO RETURN SELECT sum(n) FROM t WHERE h = x;",
    "INSERT INTO RETURN VALUES ((SELECT n FROM t WHERE h = x));",
    "INSERT INTO RETURN SELECT n FROM t WHERE h = x % 3 OR n = 1;",
]
VALUES: Final = [None, 0, 1, 1, 2, 3, -4]


def declared(of: Random) -> str:
    """A body of some of the statements."""

    def some(least: int) -> str:
        return " ".join(of.choices(STATEMENTS, k=of.randint(least, 4)))

    terminate = f"TERMINATE : {{ {some(1)} }}" if of.random() < 0.5 else ""
    tables = "TABLE t (h INT, n INT); TABLE u (h BIGINT, n INT); TABLE inwindow (w INT, v INT);"
    first = f"{STATEMENTS[1]} {some(1)} {STATEMENTS[-1]}"
    states = f"INITIALIZE : {{ {first} }} ITERATE : {{ {some(2)} }} {terminate} EXPIRE : {{ {some(0)} }}"
    return f"CREATE WINDOW AGGREGATE f (x INT, y INT) : BIGINT {{ {tables} {states} }}"


def bound(text: str, *types: pl.DataType) -> tuple[SqlProgram, SqlProgram]:
    """The aggregate written out, and interpreted."""
    (statement,) = parse(text)
    assert isinstance(statement, CreateAggregate)
    body = bind_body(statement, types)
    return SqlProgram(body), SqlProgram(body, compiled=False)


def consistent(run: SqlRun) -> None:
    """An index is what would be made of the table now."""
    for name, index in run._indexes.items():
        table, column = map(int, name.removeprefix("by").split("_"))
        assert {k: v for k, v in index.items() if v} == places(run._tables[table], column)


def plain(outcomes: list[Outcome]) -> list[tuple[list[object] | None, str | None]]:
    return [(None if values is None else list(values), error) for values, error in outcomes]


def steps_of(of: Random, count: int, first: int) -> RowSteps:
    """Rows with and without NULLs, those FILTER leaves out, and those that make others leave."""
    values = VALUES if of.random() < 0.5 else VALUES[1:]
    rows = [(of.choice(values), of.choice(values)) if of.random() < 0.95 else None for _ in range(count)]
    tags = list(range(first, first + count))
    width = of.choice([1, 3, 8])
    befores = [None if of.random() < 0.2 else tag - width for tag in tags]
    return RowSteps(tags, befores, rows, [of.random() < 0.7 for _ in tags])


@pytest.mark.parametrize("seed", range(40))
def test_many_rows_give_what_the_interpreter_gives_one_by_one(seed: int) -> None:
    of = Random(seed)
    written, interpreted = bound(declared(of), INT, INT)
    assert written.table_steps is not None
    run, other = written.start(), interpreted.start()
    first = 0
    for _ in range(6):
        steps = steps_of(of, of.choice([1, 2, 12]), first)
        first += len(steps)
        assert plain(run.steps(steps)) == plain(one_by_one(interpreted, other, steps))
        assert (run._tables, list(run.window), run.alive) == (other._tables, list(other.window), other.alive)
        consistent(run)
        if of.random() < 0.3:
            before = first - of.choice([1, 3])
            assert told(run, before) == told(other, before)
        if of.random() < 0.5:
            run = pickle.loads(pickle.dumps(run))


def told(run: SqlRun, before: int) -> list[list[object]] | str:
    """What rows that leave one by one return, or what is wrong."""
    try:
        return run.expire(before)
    except RowError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(20))
def test_rows_from_the_beginning_give_what_the_interpreter_gives(seed: int) -> None:
    of = Random(1000 + seed)
    written, interpreted = bound(declared(of), INT, INT)
    for count in (1, 2, 9):
        rows = [row for row in steps_of(of, count, 0).rows if row is not None] or [(1, 1)]
        assert answer(written, rows) == answer(interpreted, rows)


def answer(program: SqlProgram, rows: list[Sequence[object]]) -> list[object] | str:
    try:
        return list(program.over(rows))
    except RowError as error:
        return str(error)


COUNTS: Final = """CREATE WINDOW AGGREGATE seen (x BIGINT) : BIGINT
{ TABLE counts (v BIGINT, n SMALLINT);
  INITIALIZE : ITERATE : {
    INSERT INTO counts VALUES (x, 32760) WHERE NOT EXISTS (SELECT n FROM counts WHERE v = x);
    UPDATE counts SET n = CAST(n + 1 AS SMALLINT) WHERE v = x;
    INSERT INTO RETURN SELECT n - 32760 FROM counts WHERE v = x; }
  EXPIRE : { UPDATE counts SET n = CAST(n - 1 AS SMALLINT) WHERE v = x; DELETE FROM counts WHERE v = x AND n = 32760; } }"""


def test_an_error_names_the_state_and_the_line_and_the_next_row_goes_on() -> None:
    (written, _) = bound(COUNTS, pl.Int64())
    assert written.table_steps is not None
    run = written.start()
    found = plain(run.steps(RowSteps(list(range(12)), [None] * 12, [(5,)] * 9 + [(6,), (None,), (5,)], [False] * 12)))
    assert [values for values, _ in found[:7]] == [[n] for n in range(1, 8)]
    assert all(error is not None and error.startswith("in ITERATE, line 5 of its text: ") for _, error in found[7:9])
    assert found[9:11] == [([1], None), ([], None)]
    assert found[11][1] == found[8][1]


def test_groups_have_tables_of_their_own() -> None:
    of = Random(3)
    rows = pl.DataFrame(
        {"k": [of.randint(0, 3) for _ in range(400)], "v": [of.choice([1, 2, 3, 4]) for _ in range(400)]}
    )
    with Session({"rows": rows}) as session:
        session.run("CREATE STREAM s (k BIGINT, v BIGINT) SOURCE 'frame://rows'")
        session.run(COUNTS)
        (query,) = session.execute("SELECT k, v, seen(v) OVER (PARTITION BY k ROWS 4 PRECEDING) AS n FROM s")
        assert isinstance(query, Query)
        query.wait()
        found = query.to_polars()
    lasts: dict[int, list[int]] = {}
    expected = []
    for k, v in rows.iter_rows():
        lasts[k] = [*lasts.get(k, []), v][-5:]
        expected.append((k, v, lasts[k].count(v)))
    assert found.select("k", "v", "n").rows() == expected


def test_a_run_goes_on_from_a_checkpoint() -> None:
    first, second = (bound(COUNTS, pl.Int64())[0] for _ in range(2))
    runs: list[SqlRun] = []
    others: list[SqlRun] = []
    one, other = Anchors([first, runs]), Anchors([second, others])
    runs.append(first.start())
    runs[0].steps(RowSteps([0, 1, 2], [None] * 3, [(1,), (1,), (2,)], [False] * 3))
    put_back(other, taken(one, Arena()))
    rows = RowSteps([3, 4], [None, 1], [(2,), (1,)], [False] * 2)
    assert plain(others[0].steps(rows)) == plain(runs[0].steps(rows)) == [([2], None), ([2], None)]


def test_a_run_of_a_checkpoint_without_indexes_goes_on() -> None:
    written, _ = bound(COUNTS, pl.Int64())
    run = written.start()
    run.steps(RowSteps([0, 1], [None, None], [(1,), (1,)], [False, False]))
    assert run._indexes
    state = {k: v for k, v in run.__getstate__().items() if k != "_indexes"}
    old = SqlRun.__new__(SqlRun)
    old.__setstate__(state)
    assert plain(old.steps(RowSteps([2, 3], [None, None], [(1,), (2,)], [False, False]))) == [([3], None), ([1], None)]


@pytest.mark.parametrize("tables", ["TABLE t (n INT);", "TABLE t (n INT); TABLE u (n INT);"])
def test_terminate_reads_the_arguments_of_the_row_before(tables: str) -> None:
    more = "INSERT INTO u VALUES (x);" if "u (" in tables else ""
    states = f"INITIALIZE : {{ INSERT INTO t VALUES (x); }} ITERATE : {{ UPDATE t SET n = n + x; {more} }}"
    states += " TERMINATE : { INSERT INTO RETURN SELECT 10 * n + x FROM t; } EXPIRE : { UPDATE t SET n = n - x; }"
    found = []
    for made in bound(f"CREATE WINDOW AGGREGATE f (x INT) : INT {{ {tables} {states} }}", INT):
        run = made.start()
        given = [
            RowSteps([0, 1], [None] * 2, [(3,), (4,)], [True] * 2),
            RowSteps([2, 3], [None, 1], [None] * 2, [True] * 2),
        ]
        outcomes = [plain(run.steps(steps)) for steps in given]
        answers = [run.answer()]
        run.steps(RowSteps([4, 5], [None] * 2, [(5,), (6,)], [False] * 2))
        run.expire(2)
        found.append((outcomes, [*answers, run.answer()]))
    assert found[0] == found[1]
    assert found[0][0] == [[([33], None), ([74], None)], [([74], None), ([43], None)]]


@pytest.mark.parametrize(
    ("condition", "indexed"),
    [
        ("h = x", True),
        ("x % 3 = h AND n > 1", True),
        ("n > 1 AND h = x", True),
        ("h = x + 1", False),  # the sum may fail, and isn't looked at without rows
        ("h = x AND 7 % n = 1", False),  # so may what stands behind, where h is NULL
        ("h = x OR n = 1", False),
        ("h = n", False),
        ("h = x AND EXISTS (SELECT n FROM u)", False),
    ],
)
def test_rows_are_looked_up_where_no_error_can_be_missed(condition: str, indexed: bool) -> None:
    tables = "TABLE t (h INT, n INT); TABLE u (n INT);"
    states = f"INITIALIZE : ITERATE : {{ INSERT INTO t VALUES (x, 1); INSERT INTO RETURN SELECT n FROM t WHERE {condition}; }}"
    written, _ = bound(f"CREATE AGGREGATE f (x INT) : INT {{ {tables} {states} }}", INT)
    run = written.start()
    run.steps(RowSteps([0, 1], [None, None], [(1,), (2,)], [False, False]))
    assert bool(run._indexes) == indexed


class Broken:
    """A row that is interrupted when it is read."""

    def __iter__(self) -> NoReturn:
        raise KeyboardInterrupt


def test_a_loop_that_is_broken_off_leaves_no_index() -> None:
    tables = "TABLE t (h INT, n INT)"
    states = "INITIALIZE : { INSERT INTO t VALUES (x, 0), (9, 0); }"
    states += " ITERATE : { UPDATE t SET n = n + 1 WHERE h = x; INSERT INTO RETURN VALUES (x); }"
    written, _ = bound(f"CREATE WINDOW AGGREGATE f (x INT) : BIGINT {{ {tables}; {states} EXPIRE : {{ }} }}", INT)
    run = written.start()
    run.steps(RowSteps([1, 2], [None, None], [(1,), (2,)], [False, False]))
    assert run._indexes
    with pytest.raises(KeyboardInterrupt):
        run.steps(RowSteps([3, 4], [None, None], [(1,), Broken()], [False, False]))
    assert run._tables[0] == [(1, 1), (9, 0)] and not run._indexes  # nobody knows what was under way
