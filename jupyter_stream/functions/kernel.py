"""Expressions to Polars. Not for functions themselves: each row of the table has its own kernel."""

from __future__ import annotations

import datetime as dt
import itertools
import operator
from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from itertools import islice
from typing import Final, NamedTuple

import polars as pl

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP
from jupyter_stream.functions import registry
from jupyter_stream.functions.comparison import among_constants
from jupyter_stream.functions.elementwise import calls_of_python
from jupyter_stream.functions.expression import Call, Column, Expr, LambdaBody, Literal, columns, fold, walk
from jupyter_stream.functions.function import MOST_TEXT, TOO_LONG, BadArguments, Compiled, Failure, Step
from jupyter_stream.functions.steps import with_steps
from jupyter_stream.functions.types import ATOMIC, BIGINT, DATE, INT, VOID

_LEAVES: Final = 64
_LEAVES_THAT_FAIL: Final = 16
_LEVELS: Final = 24
"""Columns read, and levels, from which the value of a part becomes a step. What uses it, as every test for an overflow
does, then names one column instead of repeating all of it, which would make a sum of n terms n * n long.
"""
_LONG: Final = 256
"""Calls of an expression from which parts that call Python or may fail become steps sooner. A frame for each step is dearer
than what it saves in a short expression: 50 us, which is what 20,000 quotients take."""
_LEAVES_THAT_FAIL_IN_LONG: Final = 8
_KEPT: Final = 8
"""Expressions whose compiled form is kept: what asks whether one can fail, and what computes it, compile it once."""

_FEW_CASTS: Final = 16
"""Casts of constants from which those of the same types are computed together: each by itself takes Polars 200 us."""

_MANY_MEMBERS: Final = 64
"""Constants in IN from which they are compiled as one list: each by itself takes Polars 20 us, and none is looked at."""

_numbers: Final = itertools.count()


@lru_cache(maxsize=_KEPT)
def compile_kernel(expr: Expr) -> Compiled:
    """The expression for Polars: a value that never raises, and the rows that fail.

    What has no columns is computed here, once: `ts > '2024-01-01'` can't fail on any row.
    """
    expr = _members_as_one(expr)
    known = _casts_of_constants(expr)  # what is there twice is compiled once
    stepped: dict[int, _CompiledPart] = {}  # and becomes a step once
    steps: list[Step] = []
    codes = _Codes()
    long = sum(isinstance(e, Call) for e in islice(walk(expr), 2 * _LONG)) >= _LONG

    def stepping(part: _CompiledPart) -> _CompiledPart:
        if not _is_large(part, long):
            return part
        if id(part) not in stepped:
            step, stepped[id(part)] = _as_step(part, codes)
            steps.append(step)
        return stepped[id(part)]

    def compiled(found: Expr, parts: tuple[_CompiledPart, ...]) -> _CompiledPart:
        if not isinstance(found, Call):
            return _compile(found, parts)
        if found not in known:
            known[found] = _compile(found, tuple(stepping(p) for p in parts))
            steps.extend(known[found].made.steps)  # a call of Python's own is a step as it is
        return known[found]

    made = fold(expr, compiled).made
    failures = tuple(Failure(f.condition.fill_null(_NO), f.reason, f.said) for f in made.failures)
    return Compiled(made.value, failures, tuple(steps))


_NO: Final = pl.lit(False)


def _members_as_one(expr: Expr) -> Expr:
    """IN of many constants with one list in their place, where it asks for them as one."""

    def many(e: Expr) -> bool:
        return isinstance(e, Call) and e.function == "in" and len(e.args) > _MANY_MEMBERS and among_constants(e)

    def made(found: Expr, parts: tuple[Expr, ...]) -> Expr:
        if not isinstance(found, Call):
            return found
        if many(found):
            values = tuple(a.value for a in found.args[1:] if isinstance(a, Literal))
            return Call("in", (parts[0], Literal(values, pl.List(found.args[0].dtype))), found.dtype)
        return Call(found.function, parts, found.dtype)

    return fold(expr, made) if any(map(many, walk(expr))) else expr


_LENGTHENING: Final = frozenset(("repeat", "lpad", "rpad", "space", "replace"))


def checked(expr: Expr) -> Expr:
    """The expression, unless it is a constant text that is too long: no row would have it.

    Raises:
        BadArguments: it is.
    """
    if isinstance(expr, Call) and expr.function in _LENGTHENING and not columns(expr):
        for failure in compile_kernel(expr).failures:
            if failure.reason == TOO_LONG and pl.select(failure.condition).item():
                raise BadArguments(TOO_LONG)
    return expr


class _CompiledPart(NamedTuple):
    """A compiled expression, whether it is constant, how many levels it has since the last step, and whether Python is called."""

    made: Compiled
    constant: bool
    levels: int
    dear: bool = False


def _compile(expr: Expr, parts: tuple[_CompiledPart, ...]) -> _CompiledPart:
    if isinstance(expr, Column):
        return _CompiledPart(Compiled(pl.col(expr.name)), False, 0)
    if isinstance(expr, Literal):
        return _CompiledPart(Compiled(literal(expr)), True, 0)
    kernel = registry.find(expr.function).kernel
    if kernel is None:
        raise ValueError(f"{expr.function} is written in terms of other functions: make it with resolve()")
    calls = calls_of_python()
    made = kernel(expr, tuple(p.made for p in parts))
    dear = calls_of_python() > calls or any(p.dear for p in parts)
    if all(p.constant for p in parts):
        return _CompiledPart(_computed(made, expr.dtype), True, 0)
    return _CompiledPart(made, False, 1 + max(p.levels for p in parts), dear)


def _is_large(part: _CompiledPart, long: bool) -> bool:
    if part.constant or not part.levels:
        return False
    if part.levels >= _LEVELS or (long and part.dear):
        return True
    failures, leaves = len(part.made.failures), len(part.made.value.meta.root_names())
    few = _LEAVES_THAT_FAIL_IN_LONG if long else _LEAVES_THAT_FAIL
    return max(failures, leaves) > (few if failures else _LEAVES)


class _Codes:
    """Numbers of reasons, the same in all steps of an expression, so that a step can take over what one before it tells."""

    def __init__(self) -> None:
        self._of: dict[str, int] = {}
        self._told: dict[int, tuple[tuple[Failure, ...], pl.Expr]] = {}

    def first(self, failures: Sequence[Failure]) -> pl.Expr:
        """The number of the first reason that holds."""
        known, column = self._told.get(id(failures[0]), ((), None))
        taken = len(known) if column is not None and all(f is k for f, k in zip(failures, known, strict=False)) else 0
        told = [pl.when(f.condition).then(_number(self._number(f.reason))) for f in failures[taken:]]
        return pl.coalesce(*([] if column is None or not taken else [column]), *told)

    def failures(self, column: pl.Expr, reasons: Iterable[str]) -> tuple[Failure, ...]:
        """What a column of such numbers tells."""
        made = tuple(Failure(column.eq_missing(_number(self._number(reason))), reason) for reason in reasons)
        self._told[id(made[0])] = made, column
        return made

    def _number(self, reason: str) -> int:
        return self._of.setdefault(reason, len(self._of))


def _as_step(part: _CompiledPart, codes: _Codes) -> tuple[tuple[pl.Expr, ...], _CompiledPart]:
    """The value as a column of its own, and another that says which failure is the row's first; and what reads them."""
    made, number = part.made, next(_numbers)
    value = f"$value{number}"
    step = [made.value.alias(value)]
    failures: tuple[Failure, ...] = ()
    if made.failures:
        first = f"$failure{number}"
        reasons = list(dict.fromkeys(f.reason for f in made.failures))
        if len(reasons) == 1:
            step.append(reduce(operator.or_, (f.condition for f in made.failures)).fill_null(_NO).alias(first))
            failures = (Failure(pl.col(first), reasons[0]),)
        else:
            step.append(codes.first(made.failures).alias(first))
            failures = codes.failures(pl.col(first), reasons)
    return tuple(step), _CompiledPart(Compiled(pl.col(value), failures), False, 0)


@lru_cache(maxsize=64)
def _number(number: int) -> pl.Expr:
    return pl.lit(number, dtype=pl.Int32)


def _computed(made: Compiled, dtype: pl.DataType) -> Compiled:
    shown = dtype in (*ATOMIC, VOID) or isinstance(dtype, pl.Decimal)
    asked = [f.condition.alias(f"{i}") for i, f in enumerate(made.failures)]
    found = pl.select([*asked, *([made.value.alias("value")] if shown else [])])
    for i, failure in enumerate(made.failures):
        if found.item(0, i):
            return _failed(failure.reason, dtype)
    if not shown:
        return Compiled(made.value)
    return _constants(found.get_column("value"), dtype)[0]


def _constants(values: pl.Series, dtype: pl.DataType) -> list[Compiled]:
    """Each value as a constant."""
    if dtype in (TIMESTAMP, INTERVAL, DATE):  # Python's own times are too small
        physical = INT if dtype == DATE else BIGINT
        return [Compiled(pl.lit(v, dtype=physical).cast(dtype)) for v in values.cast(physical).to_list()]
    return [
        _failed(TOO_LONG, dtype) if isinstance(v, str) and len(v) > MOST_TEXT else Compiled(pl.lit(v, dtype=dtype))
        for v in values.to_list()
    ]


def _casts_of_constants(expr: Expr) -> dict[Expr, _CompiledPart]:
    """What casts of constants give, where there are many: those of one type to another at once, a row for each."""
    groups: dict[tuple[str, pl.DataType, pl.DataType], dict[Call, Literal]] = {}
    for found in walk(expr):
        if isinstance(found, Call) and found.function in ("cast", "try_cast"):
            (given,) = found.args
            if isinstance(given, Literal) and isinstance(given.value, str | int) and found.dtype in ATOMIC:
                groups.setdefault((found.function, given.dtype, found.dtype), {})[found] = given
    known: dict[Expr, _CompiledPart] = {}
    for (function, source, target), casts in groups.items():
        if len(casts) > _FEW_CASTS:
            known |= zip(casts, _cast_at_once(function, list(casts.values()), source, target), strict=True)
    return known


def _cast_at_once(
    function: str, given: Sequence[Literal], source: pl.DataType, target: pl.DataType
) -> list[_CompiledPart]:
    made = compile_kernel(Call(function, (Column("given", source),), target))
    frame = with_steps(pl.DataFrame({"given": pl.Series([g.value for g in given], dtype=source)}), made.steps)
    values = _constants(frame.select(made.value.alias("value")).get_column("value"), target)
    for failure in reversed(made.failures):  # the first that holds tells
        fails = frame.select(failure.condition.alias("fails")).get_column("fails")
        for at in fails.arg_true().to_list():
            values[at] = _failed(failure.reason, target)
    return [_CompiledPart(value, True, 0) for value in values]


def _failed(reason: str, dtype: pl.DataType) -> Compiled:
    return Compiled(pl.lit(None, dtype=dtype), (Failure(pl.lit(True), reason),))


def literal(expr: Literal) -> pl.Expr:
    """A literal for Polars; times with a zone are brought to UTC."""
    value = expr.value
    if isinstance(value, LambdaBody):
        return pl.lit(None)  # the function it is given to takes it from its call
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)
    if isinstance(value, list | tuple) or (isinstance(value, Iterable) and not isinstance(value, str | bytes)):
        return pl.lit(pl.Series([list(value)], dtype=expr.dtype))
    return pl.lit(value, dtype=expr.dtype)
