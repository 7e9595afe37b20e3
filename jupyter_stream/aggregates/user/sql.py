"""Runs aggregates written in SQL: each state of a body becomes a Python function once, and tables are lists of tuples.

What is written out as lines is in `clauses`, straight-line bodies as loops over many rows in `straight`; this file has the
functions for the rest, which with `compiled=False` do everything: the tests hold the two against each other.

Rows are taken one by one, as the language says (ESL, §5.4: one routine for each state). An environment is a list: the tables, the
window, what was returned, what subqueries gave; then the arguments, then places for the rows statements read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice, repeat
from typing import Any
from zlib import crc32

import polars as pl

from jupyter_stream.aggregates.user.alike import alike, by_themselves, once, row_key
from jupyter_stream.aggregates.user.body import (
    FIRST_PLACE,
    RETURN,
    WINDOW,
    Action,
    Body,
    BodyOrder,
    Chance,
    DeleteRows,
    InsertRows,
    InsertSelect,
    Oldest,
    Read,
    SelectRows,
    Subquery,
    UpdateRows,
)
from jupyter_stream.aggregates.user.chance import next_of
from jupyter_stream.aggregates.user.clauses import Statement, clause
from jupyter_stream.aggregates.user.fold import fold
from jupyter_stream.aggregates.user.lookups import Indexes
from jupyter_stream.aggregates.user.recurrences import FEW, columnar
from jupyter_stream.aggregates.user.relational import places_of
from jupyter_stream.aggregates.user.segments import Outcome, as_tuples
from jupyter_stream.aggregates.user.stepping import RowSteps, fits, leaving, one_by_one, step, stepping
from jupyter_stream.aggregates.user.stored import StoredRows
from jupyter_stream.aggregates.user.straight import Loop, loop, straight
from jupyter_stream.aggregates.user.table_steps import TableSteps, table_steps
from jupyter_stream.core.messages import Int64s
from jupyter_stream.functions.expression import Expr
from jupyter_stream.functions.scalar import Env, RowError, Scalar, compile_scalar

_TABLES, _WINDOW, _RETURNED, _MEMO = range(FIRST_PLACE)
MOST_LEVELS = 1_000
"""How often rows that an aggregate gives itself may lead to further ones."""
MOST_ROWS = 1_000_000
"""How many rows an aggregate may give itself for one row it takes."""
_BYTES = 120
"""Bytes a row of a few columns takes in a Python tuple, roughly."""

Rows = Callable[[Env], Iterator[tuple[Any, ...]]]


class SqlProgram:
    """A body ready to run.

    Args:
        body: what was declared, bound.
        compiled: whether states are written out as Python where they can be.
        seed: where chance in it goes by rows: of the streams it reads. Rows then have their number behind the arguments, and
            that of a group's first row says where its chance begins.
    """

    def __init__(self, body: Body, compiled: bool = True, seed: int | None = None) -> None:
        self.body = body
        self.compiled = compiled
        self._table_steps = cache(partial(table_steps, body))  # checkpoints leave alone what a cache holds
        self.seed = seed
        self.numbered = seed is not None
        self.name = body.name
        self.arguments = (*body.arguments, pl.Int64()) if self.numbered else body.arguments
        self.dtype = body.dtype
        self.blocking = bool(body.terminate)
        self.expires = body.expire is not None
        compiler = _Compiler(body)

        def state(actions: Sequence[Action], name: str) -> Statement:
            return clause(body, actions, name, compiler.statement) if compiled else compiler.state(actions, name)

        self.initialize = state(body.initialize, "initialize")
        self.iterate = state(body.iterate, "iterate")
        self.terminate = state(body.terminate, "terminate")
        self.expire = state(body.expire or (), "expire")
        self._straight = straight(body) if compiled else None
        self._looped = self._straight if self._straight is not None and not self._straight.looks_back else None
        self._columnar = None if self._looped is None else columnar(self._looped)
        looped = self._looped
        self._loops: dict[bool, Loop] = {} if looped is None else {n: loop(looped, n) for n in (False, True)}
        self.stepping = None if self._straight is None else stepping(self._straight)
        self.leaving = None if self._straight is None else leaving(self._straight)
        self.writes = body.writes
        self.chances = [v for v in body.values if isinstance(v, Chance)]
        self.stored = [StoredRows(table) for table in body.stored]
        self.keeps_window = body.keeps_window or self.expires
        # where nothing is remembered but the window the last row's state alone says the answer
        self._remembers = (
            bool(self.chances)
            or body.initialize != body.iterate
            or any(getattr(a, "table", None) != RETURN for a in (*body.iterate, *body.terminate))
        )
        self._seeded: dict[int, SqlProgram] = {}
        fields = body.dtype.fields if isinstance(body.dtype, pl.Struct) else []
        self._names = [f.name for f in fields]

    def __reduce__(self) -> tuple[type[SqlProgram], tuple[Body, bool, int | None]]:
        """Pickled as what was declared: functions are made of it anew."""
        return SqlProgram, (self.body, True, self.seed)

    def seeded(self, seed: int) -> SqlProgram:
        """The same where chance goes by rows, one for each seed; itself without chance in it."""
        if not self.chances:
            return self
        if seed not in self._seeded:
            self._seeded[seed] = SqlProgram(self.body, seed=seed)
        return self._seeded[seed]

    @property
    def table_steps(self) -> TableSteps | None:
        """The loop over rows where tables have more than one; made when rows come, as it takes some milliseconds."""
        return self._table_steps() if self.compiled else None

    def start(self) -> SqlRun:
        """A run without rows."""
        return SqlRun(self)

    def over(self, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """The answer over some rows, from the beginning."""
        if self._looped is not None:
            return self._loop(True)([row[0] for row in rows] if len(self.arguments) == 1 else rows)
        run = SqlRun(self)
        if not self._remembers:
            run.window.extend((0, *row) for row in rows[:-1])
            rows = rows[-1:]
        last = run.take_all(rows)
        return run.answer() if self.blocking else last

    def _loop(self, nullable: bool) -> Loop:
        return self._loops[nullable]

    def slices(self, columns: Sequence[pl.Series], height: int) -> Callable[[int, int], list[Any]]:
        """A function that runs over rows of some columns, from one number to another."""
        if self._looped is None:
            rows = as_tuples(columns, height)
            return lambda start, stop: self.over(rows[start:stop])
        run = self._loop(any(c.null_count() for c in columns))
        held = columns[0].to_list() if len(columns) == 1 else as_tuples(columns, height)
        return lambda start, stop: run(held[start:stop])

    def at_once(self, columns: Sequence[pl.Series], lengths: Int64s, few: int = FEW) -> list[Outcome | None] | None:
        """Many groups' rows over columns, where the body allows it and there are more than a few."""
        if self._columnar is None or not columns or len(columns[0]) < few:
            return None
        return self._columnar.over(columns, lengths)

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
        self._indexes: Indexes = {}  # of the tables as they are
        self._taken = 0
        self._arguments = slice(FIRST_PLACE, FIRST_PLACE + len(program.body.arguments))
        self._env: Env = [None] * program.body.places
        self._env[:FIRST_PLACE] = [[*self._tables, *program.stored], self.window, self._returned, {}]

    def __getstate__(self) -> dict[str, object]:
        """Without indexes, which are made anew."""
        return {**self.__dict__, "_indexes": {}}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Also of a checkpoint from before there were indexes."""
        self.__dict__.update({"_indexes": {}, **state})

    @property
    def alive(self) -> int:
        """Rows in the window, or rows taken where none is kept."""
        return len(self.window) if self._program.keeps_window else self._taken

    @property
    def bytes(self) -> int:
        """Bytes held, roughly."""
        return _BYTES * (2 + len(self.window) + sum(map(len, self._tables)) + sum(map(len, self._indexes.values())))

    def take(self, tag: int, row: Sequence[Any]) -> list[Any]:
        """INITIALIZE or ITERATE. The row is in the window before that."""
        if self._program.numbered:
            *row, number = row
            if not self._taken:
                self._begin_chance(number)
        if self._program.keeps_window:
            self.window.append((tag, *row))
        state = self._program.iterate if self._taken else self._program.initialize
        self._taken += 1
        found = self._run(state, row)
        if self._program.body.again is not None:
            found += self._taken_again(self._tables[self._program.body.again])
        if self._program.expires and not self.window:
            self._free()  # the body deleted its last row
        return found

    def take_all(self, rows: Sequence[Sequence[object]]) -> list[object]:
        """Take rows of which none leaves; what the last one returns."""
        run = self._program.table_steps if len(rows) > 1 else None
        last: list[object] = []
        if run is None:
            for row in rows:
                last = self.take(0, row)
            return last
        out: list[Outcome] = []
        each = zip(repeat(0), repeat(None), rows, repeat(False), strict=False)
        self._taken = run(self._tables, self.window, self._taken, each, out, self._indexes, self._env)
        found, reason = out[-1]
        if found is None:
            raise RowError(reason or "")
        return list(found)

    def _begin_chance(self, number: object) -> None:
        """Say where chance begins: by the seed and the first row."""
        salt = crc32(f"{self._program.seed} {number}".encode())
        for chance in self._program.chances:
            self._tables[chance.table][:] = [(-1, salt)]

    def _taken_again(self, rows: list[tuple[Any, ...]]) -> list[Any]:
        """ITERATE for the rows it gave itself, and for those it gave itself then, until there are none."""
        found: list[Any] = []
        taken = depth = 0
        while rows:
            given, depth, taken = list(rows), depth + 1, taken + len(rows)
            rows.clear()
            if depth > MOST_LEVELS or taken > MOST_ROWS:
                many = f"{MOST_LEVELS:,} levels" if depth > MOST_LEVELS else f"{MOST_ROWS:,} rows"
                raise RowError(f"INSERT INTO SELF goes on for more than {many}: it must come to an end")
            for row in given:
                found += self._run(self._program.iterate, row)
        return found

    def expire(self, before: int) -> list[list[Any]]:
        """EXPIRE for each row that has left; the window holds it until that is done. The last one's leaving frees the state."""
        found: list[list[Any]] = []
        window = self.window
        leave = self._program.leaving
        if leave is not None and window and window[0][0] < before and fits(self._tables, self._taken):
            self._taken = leave(self._tables, window, self._taken, before, found, self._env)
            return found
        while window and window[0][0] < before:
            gone = window[0]
            found.append(self._run(self._program.expire, gone[1:]))
            if window and window[0] is gone:
                window.popleft()
        if not window and self._program.keeps_window:
            self._free()
        return found

    def steps(self, steps: RowSteps) -> list[Outcome]:
        """Many rows, before each of which others may leave."""
        run = self._program.stepping
        out: list[Outcome] = []
        each = iter(steps)
        if run is None:
            over_tables = self._program.table_steps if self._indexes or len(steps) > 1 else None
            if over_tables is None:
                return one_by_one(self._program, self, steps)
            while len(out) < len(steps):
                self._taken = over_tables(self._tables, self.window, self._taken, each, out, self._indexes, self._env)
            return out
        while len(out) < len(steps):  # the loop ends at a row that fails
            if fits(self._tables, self._taken):
                self._taken = run(self._tables, self.window, self._taken, each, out, self._env)
            else:
                out.append(step(self._program, self, *next(each)))
        return out

    def _free(self) -> None:
        self._taken = 0
        self._indexes.clear()
        for table in self._tables:
            table.clear()

    def answer(self) -> list[Any]:
        """TERMINATE."""
        return self._run(self._program.terminate, None)

    def _run(self, state: Statement, row: Sequence[Any] | None) -> list[Any]:
        if row is not None:
            self._env[self._arguments] = row
        self._returned.clear()
        if self._indexes:
            self._indexes.clear()
        state(self._env)
        return [self._program.shown(r) for r in self._returned]


class _Compiler:
    """Statements of one body as functions."""

    def __init__(self, body: Body) -> None:
        self._places: dict[str, int | Scalar] = {f"#{i}": i for i in range(body.places)}
        for i, value in enumerate(body.values):
            if isinstance(value, Chance):
                self._places[f"@{i}"] = next_of(value)
            else:
                self._places[f"@{i}"] = self._oldest(value) if isinstance(value, Oldest) else self._subquery(i, value)
        self._body = body
        self._forgets = any(isinstance(p, _Once) for p in self._places.values())

    def state(self, actions: Sequence[Action], state: str) -> Statement:
        """All of a state's statements, one after the other. What fails is told with the state and the line of its text."""
        statements = [self._action(a) for a in actions]
        places = [self._body.place(state, number) for number in range(len(actions))]
        forgets = self._forgets

        def run(env: Env) -> None:
            at = 0
            try:
                for statement in statements:
                    if forgets:
                        env[_MEMO].clear()
                    statement(env)
                    at += 1
            except RowError as error:
                raise RowError(f"{places[at]}{error}") from None

        return run

    def statement(self, action: Action) -> Statement:
        """One statement."""
        run = self._action(action)
        if not self._forgets:
            return run

        def afresh(env: Env) -> None:
            env[_MEMO].clear()
            run(env)

        return afresh

    # -- what `relational` asks for

    def read(self, read: Read) -> Callable[[Env], Iterator[None]]:
        """The rows of a table, put into their place one after the other."""
        return self._reads([read])

    def select(self, select: SelectRows) -> Rows:
        """What a SELECT gives."""
        return self._select(select)

    def condition(self, expr: Expr | None) -> Scalar | None:
        """A condition; None for none."""
        return self._condition(expr)

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
        if select.ordered is None:
            return self._unordered(select)
        # keys stand behind the items of each row, and go when it has its place
        keys = tuple(key for key, _, _ in select.ordered.keys)
        rows = self._unordered(replace(select, items=(*select.items, *keys)))
        width, ordered = len(select.items), select.ordered
        stop = None if ordered.limit is None else ordered.offset + ordered.limit

        def run(env: Env) -> Iterator[tuple[Any, ...]]:
            found = rows(env) if not keys else _in_order(list(rows(env)), width, ordered)
            for row in islice(found, ordered.offset, stop):
                yield row[:width]

        return run

    def _unordered(self, select: SelectRows) -> Rows:
        reads = self._reads(select.reads) if select.source is None else places_of(select.source, self)
        where = self._condition(select.where)
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
        elif select.source is None and len(select.reads) == 1 and select.reads[0].table != WINDOW:
            rows = self._of_one_table(select.reads[0], where, items)
        if not select.distinct:
            return rows
        if by_themselves([e.dtype for e in select.items]):
            return lambda env: iter(dict.fromkeys(rows(env)))
        return lambda env: iter(once(rows(env)))

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
        same = tuple if by_themselves([e.dtype for _, e in select.keys]) else row_key

        def run(env: Env) -> Iterator[tuple[Any, ...]]:
            groups: dict[tuple[Any, ...], tuple[tuple[Any, ...], list[list[tuple[Any, ...]]]]] = {}
            if not keys:
                groups[()] = (), [[] for _ in folded]
            for _ in chosen(env):
                key = tuple([f(env) for _, f in keys])
                group = groups.get(same(key))
                if group is None:
                    group = groups[same(key)] = key, [[] for _ in folded]
                for held, (_, args, where) in zip(group[1], folded, strict=True):
                    if where is None or where(env):
                        held.append(tuple([f(env) for f in args]))
            for key, values in groups.values():
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


def _in_order(rows: list[tuple[Any, ...]], width: int, ordered: BodyOrder) -> list[tuple[Any, ...]]:
    """Rows by the keys that stand behind their first `width` values. NaN is greater than any number."""
    for at, (_, descending, nulls_last) in reversed(list(enumerate(ordered.keys, width))):
        null = 1 if nulls_last != descending else -1

        def place(row: tuple[Any, ...], at: int = at, null: int = null) -> tuple[Any, ...]:
            value = row[at]
            if value is None:
                return (null,)
            return (0, 1) if value != value else (0, 0, value)

        rows.sort(key=place, reverse=descending)
    return rows


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
    unknown, sought = False, alike(value)
    for (other,) in rows:
        if value is None or other is None:
            unknown = True
        elif sought == alike(other):
            return True
    return None if unknown else False
