"""Tumbling joins: each pair is in one extent, of which `window_start`, `window_end` and `window_time` speak.

A pair comes when its later row does, rather than when its extent is over. Not for joins under SLIDE (`join_instants`).
"""

from __future__ import annotations

from jupyter_stream import functions
from jupyter_stream.binding.scope import Scope
from jupyter_stream.core.messages import TS
from jupyter_stream.functions import Column, Expr, Literal
from jupyter_stream.functions.types import BIGINT
from jupyter_stream.plan.lifetimes import holds_join
from jupyter_stream.plan.logical import Join, walk
from jupyter_stream.plan.time_columns import time_columns
from jupyter_stream.windows import Schedule

_NAMES = ("window_start", "window_end", "window_time")


def has_extents(scope: Scope) -> bool:
    """Whether rows are pairs that are in one extent each."""
    return scope.schedule is not None and holds_join(scope.plan) and scope.joined is not None


def extent_start(time: Expr, ends: Schedule) -> Expr:
    """Where the extent begins that a time is in, in microseconds."""
    shifted = functions.resolve("-", [time, Literal(ends.phase, BIGINT)]) if ends.phase else time
    rest = functions.resolve("pmod", [shifted, Literal(ends.slide, BIGINT)])
    return functions.resolve("-", [time, rest])


def about_extent(scope: Scope, name: str, qualifier: str | None = None) -> Expr | None:
    """What a name says of a pair's extent; None for other names and other rows.

    With an input's name it is NULL where the row of that input is missing.
    """
    lower = name.lower()
    if lower not in _NAMES or scope.schedule is None or not has_extents(scope):
        return None
    value = _value(lower, scope.schedule, scope)
    if qualifier is None or all(n.kind in ("inner", "semi", "anti") for n in walk(scope.plan) if isinstance(n, Join)):
        return value
    times = time_columns(scope.plan)
    own = [c.column for c in scope.joined or () if c.column in times and qualifier.lower() in c.qualifiers]
    if not own:
        return None  # no column says whether the row is there
    if not all(times[column].nullable for column in own):
        return value
    field = scope.schema.find(own[0])
    assert field is not None
    missing = functions.resolve("is_null", [Column(field.name, field.dtype)])
    return functions.resolve("if", [missing, Literal(None, value.dtype), value])


def _value(name: str, ends: Schedule, scope: Scope) -> Expr:
    value = extent_start(Column(TS, BIGINT), ends)
    if name != "window_start":
        value = functions.resolve("+", [value, Literal(ends.slide - (name == "window_time"), BIGINT)])
    return value if scope.time.dtype.is_integer() else functions.resolve("timestamp_micros", [value])


__all__ = ["about_extent", "extent_start", "has_extents"]
