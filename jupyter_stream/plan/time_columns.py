"""How far columns are from the times of their rows, where a plan alone says it: what a comparison of columns says of times.

A stream's time column holds its rows' time. `window_end` of an extent is a microsecond after it, `window_start` a range before
that. Of joined rows, which progress on the later of their two times, the columns of one side are behind by what the join allows.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from jupyter_stream.core.messages import TS, WINDOW_START
from jupyter_stream.functions.expression import Call, Column, Expr, Literal
from jupyter_stream.plan.instants import one_instant_each
from jupyter_stream.plan.logical import (
    Aggregate,
    Derived,
    ExtentRows,
    Filter,
    Join,
    Lookup,
    MatchRows,
    Over,
    Plan,
    Project,
    Retimed,
    Sample,
    Scan,
    Top,
    Union,
    Unnest,
    WindowFunctions,
)


@dataclass(frozen=True, slots=True)
class Distance:
    """How far a column is from its row's time, in microseconds.

    Attributes:
        least: the least difference of column and time, None for no bound.
        most: the greatest.
        nullable: whether it can be NULL: padded, by an outer join.
    """

    least: int | None
    most: int | None
    nullable: bool = False

    @property
    def exact(self) -> bool:
        """Whether the time says what the column is, and the other way round."""
        return self.least is not None and self.least == self.most and not self.nullable

    def plus(self, least: int | None, most: int | None) -> Distance:
        """Of a column that is so far from another."""
        return replace(self, least=_sum(self.least, least), most=_sum(self.most, most))


_SAME = Distance(0, 0)


def time_columns(plan: Plan) -> dict[str, Distance]:
    """The columns of a plan's rows whose distance from their time is known, `$ts` and those about the extent among them."""
    found = _columns(plan)
    found[TS] = _SAME
    return found


def progressing(plan: Plan) -> frozenset[str]:
    """Columns of a plan that hold, in every row, the row's time."""
    known = time_columns(plan)
    return frozenset(name for name in plan.schema.names if known.get(name) == _SAME)


def _columns(plan: Plan) -> dict[str, Distance]:
    match plan:
        case Scan(stream=stream):
            column = stream.time.column if stream.time.kind == "external" and stream.table is None else None
            shown = None if column is None else plan.schema.find(column)
            return {} if shown is None or not _counts(plan, shown.name) else {shown.name: _SAME}
        case Retimed(on=on):
            return {on: _SAME}
        case Filter() | Derived() | Sample() | Unnest() | Top() | WindowFunctions() | ExtentRows():
            return time_columns(plan.input)
        case MatchRows(time=column):
            return {} if column is None or not plan.by_time else {column: _SAME}
        case Over(window=window):
            return {} if window.on_expiry else _named(time_columns(plan.input), plan.input)
        case Lookup():
            return _named(time_columns(plan.input), plan.input)
        case Project(items=items):
            below = time_columns(plan.input)
            return {name: apart for name, expr in items if (apart := apart_of(expr, below)) is not None}
        case Union(parts=parts, schema=schema):
            each = [time_columns(part) for part in parts]
            found = {}
            for at, name in enumerate(schema.names):
                aparts = [known.get(part.schema.names[at]) for known, part in zip(each, parts, strict=True)]
                some = [apart for apart in aparts if apart is not None]
                if len(some) == len(aparts):
                    found[name] = _either(some)
            return found
        case Aggregate():
            return _of_extents(plan)
        case Join():
            return _of_pairs(plan)
    return {}


def _counts(plan: Plan, name: str) -> bool:
    """Whether a column counts microseconds, as times do."""
    field = plan.schema.find(name)
    return field is not None and (field.dtype.is_integer() or isinstance(field.dtype, pl.Datetime))


def _named(found: Mapping[str, Distance], plan: Plan) -> dict[str, Distance]:
    return {name: apart for name, apart in found.items() if name in plan.schema.names}


def apart_of(expr: Expr, known: Mapping[str, Distance]) -> Distance | None:
    """How far an expression is from its row's time: a column that is known, and something added."""
    sum_ = linear(expr)
    if sum_ is not None:
        if list(sum_.columns.values()) != [1]:
            return None
        (column,) = sum_.columns
        return known[column].plus(sum_.constant, sum_.constant) if column in known else None
    return _called(expr, known) if isinstance(expr, Call) else None


def _called(expr: Call, known: Mapping[str, Distance]) -> Distance | None:
    """The same of what USING makes of an outer join's columns, and of the window columns of a tumbling join."""
    first, *others = expr.args
    if expr.function == "coalesce":
        aparts = [apart_of(arg, known) for arg in expr.args]
        some = [apart for apart in aparts if apart is not None]
        return replace(_either(some), nullable=all(a.nullable for a in some)) if len(some) == len(aparts) else None
    if expr.function == "timestamp_micros":
        return apart_of(first, known)
    if len(others) != 1:
        return None
    below, number = apart_of(first, known), linear(others[0])
    if below is None:
        return None
    if expr.function == "+" and number is not None and not number.columns:
        return below.plus(number.constant, number.constant)
    rest = others[0]
    if expr.function == "-" and isinstance(rest, Call) and rest.function == "pmod":
        slide = linear(rest.args[1])
        return below.plus(1 - slide.constant, 0) if slide is not None and not slide.columns else None
    return None


def _of_extents(plan: Aggregate) -> dict[str, Distance]:
    window = plan.window
    found = {name: Distance(*apart) for name, apart in window.edges.items()}
    if plan.other_windows and window.schedule is not None:
        found.pop(WINDOW_START, None)
    if window.held_before is not None and window.on is None:
        back = 0 if one_instant_each(window, plan.input) else window.held_before
        below = time_columns(plan.input)
        for name, expr in plan.keys:
            apart = apart_of(expr, below)
            if apart is not None:
                found[name] = apart.plus(-back, 0)
    return found


def _of_pairs(plan: Join) -> dict[str, Distance]:
    left = {n: a for n, a in time_columns(plan.left).items() if n in plan.schema.names}
    if plan.kind in ("semi", "anti"):
        return left
    names = dict(zip((f.name for f in plan.right.schema), plan.right_names, strict=True))
    right = {names[n]: a for n, a in time_columns(plan.right).items() if n in names}
    behind_left = None if plan.high is None else min(0, -plan.high)
    behind_right = None if plan.low is None else min(0, plan.low)
    ahead_left = 0 if plan.low is None or plan.kind != "inner" else min(0, -plan.low)
    ahead_right = 0 if plan.high is None or plan.kind != "inner" else min(0, plan.high)
    found: dict[str, Distance] = {}
    for name, apart in left.items():
        padded = apart.nullable or plan.kind in ("right", "full")
        found[name] = replace(apart.plus(behind_left, ahead_left), nullable=padded)
    for name, apart in right.items():
        padded = apart.nullable or plan.kind in ("left", "full")
        found[name] = replace(apart.plus(behind_right, ahead_right), nullable=padded)
    return found


@dataclass(frozen=True)
class Linear:
    """A sum of columns, each so many times, and a constant, in microseconds."""

    columns: Mapping[str, int]
    constant: int

    def minus(self, other: Linear) -> Linear:
        """The difference."""
        return self._with(other, -1)

    def plus(self, other: Linear) -> Linear:
        """The sum."""
        return self._with(other, 1)

    def _with(self, other: Linear, sign: int) -> Linear:
        times = dict(self.columns)
        for name, count in other.columns.items():
            times[name] = times.get(name, 0) + sign * count
        return Linear({n: c for n, c in times.items() if c}, self.constant + sign * other.constant)


def linear(expr: Expr) -> Linear | None:
    """An expression as such a sum; None for anything else."""
    if isinstance(expr, Column):
        return Linear({expr.name: 1}, 0)
    if isinstance(expr, Literal):
        if isinstance(expr.value, dt.timedelta):
            return Linear({}, expr.value // dt.timedelta(microseconds=1))
        return Linear({}, expr.value) if type(expr.value) is int else None
    if expr.function in ("+", "-") and len(expr.args) == 2:
        one, other = (linear(arg) for arg in expr.args)
        if one is None or other is None:
            return None
        return one.plus(other) if expr.function == "+" else one.minus(other)
    if expr.function == "cast" and expr.dtype.is_integer() and expr.args[0].dtype.is_integer():
        return linear(expr.args[0])
    return None


def difference(left: Distance, right: Distance, least: int | None, most: int | None) -> tuple[int | None, int | None]:
    """What bounds of (right column - left column) say of right time - left time."""
    return _sum(least, _minus(left.least, right.most)), _sum(most, _minus(left.most, right.least))


def _minus(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one - other


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _either(aparts: list[Distance]) -> Distance:
    """Of a column that is one of several."""
    leasts, mosts = [a.least for a in aparts], [a.most for a in aparts]
    return Distance(
        None if None in leasts else min(v for v in leasts if v is not None),
        None if None in mosts else max(v for v in mosts if v is not None),
        any(a.nullable for a in aparts),
    )


__all__ = ["Distance", "Linear", "apart_of", "difference", "linear", "progressing", "time_columns"]
