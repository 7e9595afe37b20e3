"""Runs aggregates written in SQL: each statement of a body becomes a Python function once, and tables are lists of tuples.

Rows are taken one by one, as the language says (ESL, §5.4: one routine for each state). An environment is a list: the tables, the
window, what was returned, what subqueries gave; then the arguments, then places for the rows statements read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import polars as pl

from jupyter_stream.aggregates.user.body import (
    FIRST_PLACE,
    RETURN,
    WINDOW,
    Action,
    Body,
    DeleteRows,
    InsertRows,
    InsertSelect,
    Oldest,
    Read,
    SelectRows,
    Subquery,
    UpdateRows,
)
from jupyter_stream.aggregates.user.fold import fold
from jupyter_stream.functions.expression import Expr
from jupyter_stream.functions.scalar import Env, RowError, Scalar, compile_scalar

_TABLES, _WINDOW, _RETURNED, _MEMO = range(FIRST_PLACE)
_BYTES = 120
"""Bytes a row of a few columns takes in a Python tuple, roughly."""

Statement = Callable[[Env], None]
Rows = Callable[[Env], Iterator[tuple[Any, ...]]]


class SqlProgram:
    """A body ready to run.

    Args:
        body: what was declared, bound.
    """

    def __init__(self, body: Body) -> None:
        self.body = body
        self.name = body.name
        self.arguments = body.arguments
        self.dtype = body.dtype
        self.blocking = bool(body.terminate)
        self.expires = body.expire is not None
        compiler = _Compiler(body)
        self.initialize = compiler.state(body.initialize)
        self.iterate = compiler.state(body.iterate)
        self.terminate = compiler.state(body.terminate)
        self.expire = compiler.state(body.expire or ())
        self.keeps_window = body.keeps_window or self.expires
        # nothing is remembered but the window: the last row's state alone says the answer
        self._remembers = body.initialize != body.iterate or any(
            getattr(a, "table", None) != RETURN for a in (*body.iterate, *body.terminate)
        )
        fields = body.dtype.fields if isinstance(body.dtype, pl.Struct) else []
        self._names = [f.name for f in fields]

    def start(self) -> SqlRun:
        """A run without rows."""
        return SqlRun(self)

    def over(self, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """The answer over some rows, from the beginning."""
        run = SqlRun(self)
        if not self._remembers:
            run.window.extend((0, *row) for row in rows[:-1])
            rows = rows[-1:]
        last: list[Any] = []
        for row in rows:
            last = run.take(0, row)
        return run.answer() if self.blocking else last

    def shown(self, row: tuple[Any, ...]) -> Any:
        """A row of RETURN as a value."""
        return dict(zip(self._names, row, strict=True)) if self.body.struct else row[0]


class SqlRun:
    """One group's tables and window."""

    def __init__(self, program: SqlProgram) -> None:
        self._program = program
        self.window: deque[tuple[Any, ...]] = deque()  # (tag, column, ...)
        self._tables: list[list[tuple[Any, ...]]] = [[] for _ in program.body.tables]
        self._returned: list[tuple[Any, ...]] = []
        self._taken = 0
        self._arguments = slice(FIRST_PLACE, FIRST_PLACE + len(program.arguments))
        self._env: Env = [None] * program.body.places
        self._env[:FIRST_PLACE] = [self._tables, self.window, self._returned, {}]

    @property
    def alive(self) -> int:
        """Rows in the window, or rows taken where none is kept."""
        return len(self.window) if self._program.keeps_window else self._taken

    @property
    def bytes(self) -> int:
        """Bytes held, roughly."""
        return _BYTES * (2 + len(self.window) + sum(len(t) for t in self._tables))

    def take(self, tag: int, row: Sequence[Any]) -> list[Any]:
        """INITIALIZE or ITERATE. The row is in the window before that."""
        if self._program.keeps_window:
            self.window.append((tag, *row))
        state = self._program.iterate if self._taken else self._program.initialize
        self._taken += 1
        return self._run(state, row)

    def expire(self, before: int) -> list[list[Any]]:
        """EXPIRE for each row that has left; the window holds it until that is done. The last one's leaving frees the state."""
        found = []
        window = self.window
        while window and window[0][0] < before:
            gone = window[0]
            found.append(self._run(self._program.expire, gone[1:]))
            if window and window[0] is gone:
                window.popleft()
        if not window and self._program.keeps_window:
            self._taken = 0
            for table in self._tables:
                table.clear()
        return found

    def answer(self) -> list[Any]:
        """TERMINATE."""
        return self._run(self._program.terminate, None)

    def _run(self, state: Statement, row: Sequence[Any] | None) -> list[Any]:
        if row is not None:
            self._env[self._arguments] = row
        self._returned.clear()
        state(self._env)
        return [self._program.shown(r) for r in self._returned]


class _Compiler:
    """Statements of one body as functions."""

    def __init__(self, body: Body) -> None:
        self._places: dict[str, int | Scalar] = {f"#{i}": i for i in range(body.places)}
        for i, value in enumerate(body.values):
            self._places[f"@{i}"] = self._oldest(value) if isinstance(value, Oldest) else self._subquery(i, value)

    def state(self, actions: Sequence[Action]) -> Statement:
        """All of a state's statements, one after the other."""
        statements = [self._action(a) for a in actions]
        forgets = any(isinstance(p, _Once) for p in self._places.values())

        def run(env: Env) -> None:
            for statement in statements:
                if forgets:
                    env[_MEMO].clear()
                statement(env)

        return run

    def _scalar(self, expr: Expr) -> Scalar:
        return compile_scalar(expr, self._places)

    def _condition(self, expr: Expr | None) -> Scalar | None:
        return None if expr is None else self._scalar(expr)

    def _action(self, action: Action) -> Statement:
        match action:
            case InsertRows():
                return self._insert(action)
            case InsertSelect():
                rows = self._select(action.select)
                into = _into(action.table)
                return lambda env: into(env).extend(list(rows(env)))
            case UpdateRows():
                return self._update(action)
            case DeleteRows():
                return self._delete(action)

    def _insert(self, action: InsertRows) -> Statement:
        rows = [[self._scalar(e) for e in row] for row in action.rows]
        where, into = self._condition(action.where), _into(action.table)

        def run(env: Env) -> None:
            if where is None or where(env):
                new = [tuple([f(env) for f in row]) for row in rows]
                into(env).extend(new)

        return run

    def _update(self, action: UpdateRows) -> Statement:
        table, places = action.read.table, _places(action.read)
        assignments = [(i, self._scalar(e)) for i, e in action.assignments]
        where = self._condition(action.where)

        def run(env: Env) -> None:
            updated = []
            for row in env[_TABLES][table]:
                env[places] = row
                if where is None or where(env):
                    new = list(row)
                    for i, f in assignments:
                        new[i] = f(env)
                    row = tuple(new)
                updated.append(row)
            env[_TABLES][table][:] = updated

        return run

    def _delete(self, action: DeleteRows) -> Statement:
        read, places = action.read, _places(action.read)
        where, spares = self._condition(action.where), action.spares

        def run(env: Env) -> None:
            rows = env[_WINDOW] if read.table == WINDOW else env[_TABLES][read.table]
            newest = rows[-1] if spares and rows else None
            kept = []
            for row in rows:
                env[places] = row if read.table != WINDOW else row[1:]
                if row is newest or not (where is None or where(env)):
                    kept.append(row)
            if len(kept) < len(rows):
                rows.clear()
                rows.extend(kept)

        return run

    # -- reading

    def _reads(self, reads: Sequence[Read]) -> Callable[[Env], Iterator[None]]:
        """Every combination of rows of the tables, put into its place one after the other."""
        if not reads:

            def once(env: Env) -> Iterator[None]:
                yield

            return once
        first, rest = reads[0], self._reads(reads[1:])
        table, places = first.table, _places(first)

        def run(env: Env) -> Iterator[None]:
            rows = [r[1:] for r in env[_WINDOW]] if table == WINDOW else list(env[_TABLES][table])
            for row in rows:
                env[places] = row
                yield from rest(env)

        def alone(env: Env) -> Iterator[None]:
            if table == WINDOW:
                for row in env[_WINDOW]:
                    env[places] = row[1:]
                    yield
            else:
                for row in env[_TABLES][table]:
                    env[places] = row
                    yield

        return run if reads[1:] else alone

    def _select(self, select: SelectRows) -> Rows:
        reads, where = self._reads(select.reads), self._condition(select.where)
        items = [self._scalar(e) for e in select.items]

        def chosen(env: Env) -> Iterator[None]:
            for _ in reads(env):
                if where is None or where(env):
                    yield

        def plain(env: Env) -> Iterator[tuple[Any, ...]]:
            for _ in chosen(env):
                yield tuple([f(env) for f in items])

        rows: Rows = plain
        if select.grouped:
            rows = self._grouped(select, chosen, items)
        elif len(select.reads) == 1 and select.reads[0].table != WINDOW:
            rows = self._of_one_table(select.reads[0], where, items)
        if not select.distinct:
            return rows
        return lambda env: iter(dict.fromkeys(rows(env)))

    def _of_one_table(self, read: Read, where: Scalar | None, items: list[Scalar]) -> Rows:
        """What most SELECTs are, without a generator in a generator: half the time."""
        table, places = read.table, _places(read)

        def run(env: Env) -> Iterator[tuple[Any, ...]]:
            for row in env[_TABLES][table]:
                env[places] = row
                if where is None or where(env):
                    yield tuple([f(env) for f in items])

        return run

    def _grouped(self, select: SelectRows, chosen: Callable[[Env], Iterator[None]], items: list[Scalar]) -> Rows:
        keys = [(place, self._scalar(e)) for place, e in select.keys]
        having = self._condition(select.having)
        folded = [(f, [self._scalar(a) for a in f.args], self._condition(f.where)) for f in select.folded]

        def run(env: Env) -> Iterator[tuple[Any, ...]]:
            groups: dict[tuple[Any, ...], list[list[tuple[Any, ...]]]] = {}
            if not keys:
                groups[()] = [[] for _ in folded]
            for _ in chosen(env):
                key = tuple([f(env) for _, f in keys])
                values = groups.get(key)
                if values is None:
                    values = groups[key] = [[] for _ in folded]
                for held, (_, args, where) in zip(values, folded, strict=True):
                    if where is None or where(env):
                        held.append(tuple([f(env) for f in args]))
            for key, values in groups.items():
                for (place, _), value in zip(keys, key, strict=True):
                    env[place] = value
                for held, (what, _, _) in zip(values, folded, strict=True):
                    env[what.place] = fold(what, held)
                if having is None or having(env):
                    yield tuple([f(env) for f in items])

        return run

    # -- what columns called @n stand for

    def _oldest(self, value: Oldest) -> Scalar:
        column = value.column + 1
        return lambda env: env[_WINDOW][0][column] if env[_WINDOW] else None

    def _subquery(self, number: int, value: Subquery) -> Scalar:
        rows = self._select(value.select)
        if value.kind == "exists":
            run: Scalar = lambda env: next(iter(rows(env)), None) is not None  # noqa: E731  # one of three
        elif value.kind == "in":
            assert value.value is not None
            sought = self._scalar(value.value)
            run = lambda env: _is_in(sought(env), rows(env))  # noqa: E731  # one of three
        else:
            run = lambda env: _only(rows(env))  # noqa: E731  # one of three
        return _Once(number, run) if value.once else run


class _Once:
    """A subquery that is looked up once for each statement."""

    def __init__(self, number: int, run: Scalar) -> None:
        self._number = number
        self._run = run

    def __call__(self, env: Env) -> Any:
        """Its value."""
        memo = env[_MEMO]
        if self._number not in memo:
            memo[self._number] = self._run(env)
        return memo[self._number]


def _places(read: Read) -> slice:
    return slice(read.place, read.place + read.width)


def _into(table: int) -> Callable[[Env], Any]:
    if table == RETURN:
        return lambda env: env[_RETURNED]
    return lambda env: env[_TABLES][table]


def _only(rows: Iterator[tuple[Any, ...]]) -> Any:
    first = next(rows, None)
    if first is None:
        return None
    if next(rows, None) is not None:
        raise RowError("a SELECT inside an expression gave several rows")
    return first[0]


def _is_in(value: Any, rows: Iterator[tuple[Any, ...]]) -> bool | None:
    unknown = False
    for (other,) in rows:
        if value is None or other is None:
            unknown = True
        elif value == other:
            return True
    return None if unknown else False
