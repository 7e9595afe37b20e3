"""SELECTs of a body written out: loops over rows, also where a SELECT stands inside an expression.

Each condition is looked at as soon as its rows are there, in the order in which AND looks at them; what is the same for all rows
and can't fail is computed before them. So values and errors are those of the interpreter in `sql`. What isn't written here
(GROUP BY, ORDER BY, DISTINCT, SELECTs in FROM, ...) is a `KeyError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import reduce

from jupyter_stream.aggregates.user.alike import alike
from jupyter_stream.aggregates.user.body import (
    FIRST_PLACE,
    WINDOW,
    Action,
    Body,
    InsertRows,
    Oldest,
    Read,
    SelectRows,
    Subquery,
)
from jupyter_stream.aggregates.user.fold import fold
from jupyter_stream.aggregates.user.lookups import RowLookups
from jupyter_stream.aggregates.user.straight import columns_of, is_plain
from jupyter_stream.functions.expression import Call, Column, Expr, columns, conjuncts
from jupyter_stream.functions.kernel import compile_kernel
from jupyter_stream.functions.python_lines import COMPARISONS, PythonLines, Value, is_equality
from jupyter_stream.functions.types import BOOLEAN, STRING, is_integral

Found = Callable[["BodyScope"], None]
"""Writes what is done with a combination of rows that is chosen."""

_SO_FAR = "$so far"
_SEVERAL = "a SELECT inside an expression gave several rows"
_MISSING = object()


class BodyLines(PythonLines):
    """Lines that look rows up where a SELECT inside an expression is read, and not before."""

    def _called(self, expr: Call, read: Mapping[str, Value]) -> Value:
        for name in columns(expr):
            if name not in read:
                raise KeyError(name)
        return super()._called(expr, read)


class BodyScope(dict[str, Value]):
    """Values of columns; of those that SELECTs inside expressions give, what the lines written for it say."""

    def __init__(self, known: Mapping[str, Value], look_up: Callable[[int, BodyScope], Value]) -> None:
        super().__init__(known)
        self._look_up = look_up

    def __missing__(self, name: str) -> Value:
        if not name.startswith("@"):
            raise KeyError(name)
        return self._look_up(int(name[1:]), self)

    def further(self, more: Mapping[str, Value]) -> BodyScope:
        """With more of them."""
        return BodyScope({**self, **more}, self._look_up)


class Selects:
    """Writes what SELECTs of a body give.

    Args:
        body: whose they are.
        source: where the lines go.
        lookups: what rows are found by; None where all are looked at.
    """

    def __init__(self, body: Body, source: PythonLines, lookups: RowLookups | None = None) -> None:
        self._body = body
        self._source = source
        self._lookups = lookups
        self._arguments = {f"#{FIRST_PLACE + i}" for i in range(len(body.arguments))}
        self._depth = 0
        self._once: dict[int, str] = {}
        self._computed: dict[Expr, Value] = {}

    def begin_state(self) -> None:
        """Values of arguments that conditions compare with are computed once from here on."""
        self._computed = {}
        self._depth = self._source.depth

    def scope(self, action: Action, known: Mapping[str, Value]) -> BodyScope:
        """What a statement's expressions may read.

        SELECTs inside them that are the same for all its rows are looked up when the first one asks for it.
        """
        self._once = {}
        if not isinstance(action, InsertRows):
            read = columns_of(action)
            for number, value in enumerate(self._body.values):
                if isinstance(value, Subquery) and value.once and f"@{number}" in read:
                    self._once[number] = name = self._source.variable()
                    self._source.line(f"{name} = {self._source.constant(_MISSING)}")
        return BodyScope(known, self._looked_up)

    def rows(self, table: int) -> str:
        """The rows of a table, oldest first."""
        if table == WINDOW:
            return "window"
        if not 0 <= table < len(self._body.tables):
            raise KeyError(table)
        return f"tables[{table}]" if self._lookups is None else f"t{table}"

    def columns(self, read: Read, row: str) -> dict[str, Value]:
        """Variables for the columns of a row."""
        if type(read) is not Read:
            raise KeyError(type(read).__name__)
        skip = 1 if read.table == WINDOW else 0
        names = [f"r{read.place + i}" for i in range(read.width)]
        self._source.line(f"{', '.join([*(['_'] * skip), *names])}, = {row}")
        return {f"#{read.place + i}": Value(name, True) for i, name in enumerate(names)}

    def condition(self, read: Read, where: Expr | None, scope: BodyScope) -> tuple[str | None, Expr | None]:
        """A condition on a table's rows, of which what is on the other side of a comparison is computed before them.

        Returns:
            The variable that has the places of the rows with a value it asks for, None where all rows have to be looked at;
            and the condition that is left.
        """
        parts = [] if where is None else self._prepared(where, [read], scope)
        found, rest = self._sought(read, parts, _places([read]), scope)
        return None if found is None else self._source.named(Value(found, False)).text, _all_of(rest)

    def _sought(
        self, read: Read, parts: Sequence[Expr], own: set[str], scope: BodyScope
    ) -> tuple[str | None, Sequence[Expr]]:
        """The places of the rows with a value a condition asks for, None where there is none such; and what is left of it."""
        sought = None if self._lookups is None else self._lookups.sought(read, parts, own)
        if sought is None or self._lookups is None:
            return None, parts
        column, value, rest = sought
        known = self._source.named(self._source.value(value, scope)).text
        return self._lookups.found(read.table, column, known), rest

    def chosen(self, select: SelectRows, scope: BodyScope, found: Found, until: str = "") -> None:
        """Lines that do something for each row of a SELECT.

        Args:
            select: what is selected.
            scope: what it reads from around it.
            found: writes what is done.
            until: whether that is enough, and no further row is looked at.
        """
        if is_plain(select):
            self._combined(select, scope, found, until)
        elif not select.keys and is_plain(replace(select, grouped=False, folded=(), having=None)):
            self._folded(select, scope, found)
        else:
            raise KeyError("groups, an order, or rows of other SELECTs")

    def _combined(self, select: SelectRows, scope: BodyScope, found: Found, until: str) -> None:
        """Loops over every combination of rows, and the condition."""
        source, reads = self._source, select.reads
        tables = [self.rows(read.table) for read in reads]
        # without rows in a table no condition on those of the others is looked at
        with source.block(f"if {' and '.join(tables)}:") if len(tables) > 1 else nullcontext():
            parts = [] if select.where is None else self._prepared(select.where, reads, scope)
            self._level(reads, scope, parts, found, until)

    def _level(self, reads: Sequence[Read], scope: BodyScope, parts: Sequence[Expr], found: Found, until: str) -> None:
        source = self._source
        if not reads:
            with source.block(f"if {source.condition(_all_of(parts), scope)}:"):
                found(scope)
                if until:
                    source.line(f"if {until}: break")
            return
        row = source.variable()
        rows, at = self.rows(reads[0].table), f"{row}at"
        found_at, parts = self._sought(reads[0], parts, _places(reads), scope)
        with source.block(f"for {row} in {rows}:" if found_at is None else f"for {at} in {found_at}:"):
            if found_at is not None:
                source.line(f"{row} = {rows}[{at}]")
            inside = scope.further(self.columns(reads[0], row))
            others = _places(reads[1:])
            known = next((n for n, part in enumerate(parts) if not _reads_none(part, others)), len(parts))
            if not others or not known:
                self._level(reads[1:], inside, parts, found, until)
            else:
                so_far, rest = _all_of(parts[:known]), parts[known:]
                assert so_far is not None
                if all(is_equality(part) for part in rest):  # none of them fails: false and NULL are the same here
                    with source.block(f"if {source.condition(so_far, inside)}:"):
                        self._level(reads[1:], inside, rest, found, until)
                else:
                    self._after(so_far, reads, inside, rest, found, until)
            if until and others:
                source.line(f"if {until}: break")

    def _after(
        self, so_far: Expr, reads: Sequence[Read], inside: BodyScope, parts: Sequence[Expr], found: Found, until: str
    ) -> None:
        """Further loops where what is known so far isn't false."""
        source = self._source
        inside[_SO_FAR] = value = source.named(source.value(so_far, inside))
        with source.block(f"if {value.text} is not False:"):
            self._level(reads[1:], inside, [Column(_SO_FAR, BOOLEAN), *parts], found, until)

    def _prepared(self, where: Expr, reads: Sequence[Read], scope: BodyScope) -> list[Expr]:
        """The parts of a condition; the side of a comparison that is the same for all rows is a variable."""
        return [self._compared(part, _places(reads), scope) for part in conjuncts(where)]

    def _compared(self, part: Expr, own: set[str], scope: BodyScope) -> Expr:
        if not isinstance(part, Call) or part.function not in COMPARISONS:
            return part
        args = []
        for arg in part.args:
            if isinstance(arg, Call) and _reads_none(arg, own) and is_integral(arg.dtype) and _never_fails(arg):
                name = f"${len(scope)}"
                scope[name] = self._same_for_all(arg, scope)
                arg = Column(name, arg.dtype)
            args.append(arg)
        return Call(part.function, tuple(args), part.dtype)

    def _same_for_all(self, expr: Expr, scope: BodyScope) -> Value:
        """A value that no row changes; of the arguments alone it is one for all statements of a state that stand behind."""
        known = self._computed.get(expr) if self._lookups is not None else None
        if known is not None:
            return known
        made = self._source.named(self._source.value(expr, scope))
        if self._lookups is not None and self._source.depth == self._depth and columns(expr) <= self._arguments:
            self._computed[expr] = made
        return made

    def _folded(self, select: SelectRows, scope: BodyScope, found: Found) -> None:
        """Aggregates over all rows that are chosen, without groups."""
        source = self._source
        held = [source.variable() for _ in select.folded]
        for name in held:
            source.line(f"{name} = []")

        def add(inside: BodyScope) -> None:
            for name, what in zip(held, select.folded, strict=True):
                with source.block(f"if {source.condition(what.where, inside)}:"):
                    source.line(f"{name}.append({as_tuple([source.value(e, inside).text for e in what.args])})")

        self._combined(select, scope, add, "")
        after = scope.further({})
        for name, what in zip(held, select.folded, strict=True):
            value = source.variable()
            source.line(f"{value} = {source.constant(fold)}({source.constant(what)}, {name})")
            after[f"#{what.place}"] = Value(value, True)
        with source.block(f"if {source.condition(select.having, after)}:"):
            found(after)

    # -- SELECTs inside expressions

    def _looked_up(self, number: int, scope: BodyScope) -> Value:
        """What is read there."""
        source, value = self._source, self._body.values[number]
        if isinstance(value, Oldest):
            return source.named(Value(f"(window[0][{value.column + 1}] if window else None)", True))
        if not isinstance(value, Subquery):
            raise KeyError(number)
        once = self._once.get(number)
        name = source.variable() if once is None else once
        with nullcontext() if once is None else source.block(f"if {name} is {source.constant(_MISSING)}:"):
            {"exists": self._exists, "in": self._is_in, "value": self._only}[value.kind](value, scope, name)
        return Value(name, value.kind != "exists")

    def _exists(self, sought: Subquery, scope: BodyScope, name: str) -> None:
        source = self._source

        def found(inside: BodyScope) -> None:
            for item in sought.select.items:
                source.value(item, inside)
            source.line(f"{name} = True")

        source.line(f"{name} = False")
        self.chosen(sought.select, scope, found, name)

    def _only(self, sought: Subquery, scope: BodyScope, name: str) -> None:
        source, seen = self._source, self._source.variable()

        def found(inside: BodyScope) -> None:
            value = source.value(sought.select.items[0], inside).text
            with source.block(f"if {seen}:"):
                source.line(f"raise RowError({_SEVERAL!r})")
            source.line(f"{seen}, {name} = True, {value}")

        source.line(f"{seen}, {name} = False, None")
        self.chosen(sought.select, scope, found)

    def _is_in(self, sought: Subquery, scope: BodyScope, name: str) -> None:
        source = self._source
        assert sought.value is not None
        value = source.named(source.value(sought.value, scope)).text
        dtypes = (sought.value.dtype, sought.select.items[0].dtype)
        plain = all(is_integral(dtype) or dtype == STRING for dtype in dtypes)
        same = "{}" if plain else source.constant(alike) + "({})"
        key = source.named(Value(same.format(value), True)).text

        def found(inside: BodyScope) -> None:
            other = source.named(source.value(sought.select.items[0], inside)).text
            with source.block(f"if {value} is None or {other} is None:"):
                source.line(f"{name} = None")
            with source.block(f"elif {key} == {same.format(other)}:"):
                source.line(f"{name} = True")

        source.line(f"{name} = False")
        self.chosen(sought.select, scope, found, f"{name} is True")


def _places(reads: Sequence[Read]) -> set[str]:
    return {f"#{read.place + i}" for read in reads for i in range(read.width)}


def _reads_none(expr: Expr, places: set[str]) -> bool:
    """Whether it reads none of these columns; a SELECT inside it may."""
    return not any(name in places or name.startswith("@") for name in columns(expr))


def _never_fails(expr: Expr) -> bool:
    return not compile_kernel(expr).failures


def _all_of(parts: Sequence[Expr]) -> Expr | None:
    return reduce(lambda a, b: Call("and", (a, b), BOOLEAN), parts) if parts else None


def as_tuple(values: Sequence[str]) -> str:
    """The text of a tuple of values."""
    return f"({', '.join(values)},)" if values else "()"


__all__ = ["BodyLines", "BodyScope", "Selects", "as_tuple"]
