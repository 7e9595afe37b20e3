"""Which column of a plan's rows is their time, and of what type it is. Worked out from the plan alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from jupyter_stream.core.messages import TS
from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.functions.expression import Column
from jupyter_stream.plan.logical import (
    Aggregate,
    Bags,
    Distinct,
    Join,
    MatchRows,
    Over,
    Plan,
    Project,
    RelationJoin,
    Retimed,
    Scan,
    TableRelation,
    ToStream,
    Union,
)

CURRENT_TIME = "current_time"
WINDOW_TIME = "window_time"
MATCH_ROWTIME = "match_rowtime"


@dataclass(frozen=True, slots=True)
class Time:
    """The progressing attribute of a plan's rows.

    Attributes:
        column: the column of the plan's schema that holds it, None if none does.
        dtype: TIMESTAMP, or BIGINT where the time column is an integer: the type window columns have.
        pseudo: the name `$ts` can be called by where no column holds it: current_time, window_time, or None.
        names: names, in lower case, a window can name it by, although the select list may have left the column out.
        undecided: a stream whose time nobody has chosen, and the columns it could be; None where it is known.
    """

    column: str | None
    dtype: pl.DataType
    pseudo: str | None
    names: frozenset[str] = frozenset()
    undecided: tuple[str, tuple[str, ...]] | None = None


def time_of(plan: Plan) -> Time:
    """Which column of a plan is its time. Most nodes leave rows their times."""
    match plan:
        case Scan():
            return _of_stream(plan)
        case Retimed(on=on):
            return Time(on, _integer_or_timestamp(plan.schema, on), None, frozenset({on.lower()}))
        case Project(items=items):
            below = time_of(plan.input)
            for name, expr in items:
                if isinstance(expr, Column) and expr.name in (below.column, TS):
                    return replace(below, column=name, names=below.names | {name.lower()})
            return replace(below, column=None)
        case Union():
            return _of_union(plan)
        case TableRelation():
            return Time(None, TIMESTAMP, None)
        case Join() | RelationJoin() | Distinct() | Bags() | ToStream():
            # no column has the later of two times, or the instant of a change
            streams = [part for part in plan.inputs if not isinstance(part, TableRelation)]
            return Time(None, time_of((*streams, *plan.inputs)[0]).dtype, None)
        case MatchRows(time=column):
            below = time_of(plan.input)
            names = frozenset[str]() if column is None else below.names | {column.lower()}
            return Time(column, below.dtype, MATCH_ROWTIME if column is None else None, names)
        case Over() if plan.window.on_expiry:
            return Time(None, time_of(plan.input).dtype, None)  # answers come when rows leave, and no column says when
        case Aggregate():
            return Time(None, window_dtype(plan), WINDOW_TIME)
    return time_of(plan.inputs[0])


def _of_stream(plan: Scan) -> Time:
    spec = plan.stream.time
    if spec.kind != "external" or spec.column is None:
        undecided = (plan.stream.name, spec.undecided) if spec.undecided else None
        return Time(None, TIMESTAMP, CURRENT_TIME, undecided=undecided)
    shown = plan.schema.find(spec.column)
    dtype = _integer_or_timestamp(plan.stream.schema, spec.column)
    return Time(None if shown is None else shown.name, dtype, None, frozenset({spec.column.lower()}))


def _of_union(plan: Union) -> Time:
    """The column at which all parts have theirs."""
    times = [time_of(part) for part in plan.parts]
    places = {t.column and part.schema.names.index(t.column) for t, part in zip(times, plan.parts, strict=True)}
    same = places.pop() if len(places) == 1 else None
    pseudo = {t.pseudo for t in times}
    column = None if same is None or isinstance(same, str) else plan.schema.names[same]
    names = frozenset.intersection(*(t.names for t in times))
    undecided = next((t.undecided for t in times if t.undecided is not None), None)
    return Time(column, times[0].dtype, pseudo.pop() if len(pseudo) == 1 else None, names, undecided)


def _integer_or_timestamp(schema: Schema, column: str) -> pl.DataType:
    field = schema.find(column)
    return pl.Int64() if field is not None and field.dtype.is_integer() else TIMESTAMP


def window_dtype(plan: Aggregate) -> pl.DataType:
    """The type of window_start and window_end: that of the windowing attribute."""
    on = plan.window.on
    if on is not None:
        return _integer_or_timestamp(plan.input.schema, on)
    return time_of(plan.input).dtype


def integer_time(plan: Plan) -> bool:
    """Whether the time of a plan's rows is a number rather than a TIMESTAMP."""
    return time_of(plan).dtype.is_integer()
