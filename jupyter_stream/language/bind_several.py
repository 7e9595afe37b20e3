"""Several windows in one query, each behind its aggregates: which go together, and one row for what all say of an instant.

Windows that look at the same instants are one node of the plan (`Aggregate.beside`). Where instants differ, or where there are
none because windows have no SLIDE, each is an aggregate of its own here: their answers, one after another, are put together by
group and instant again.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from jupyter_stream import functions
from jupyter_stream.core.messages import TS, WINDOW_END
from jupyter_stream.core.schema import INTERVAL, Field, Schema
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions import Column, Expr, Literal
from jupyter_stream.functions.types import BIGINT
from jupyter_stream.language.as_relation import UNBOUNDED, by_time
from jupyter_stream.language.query_syntax import WindowClause
from jupyter_stream.language.source_text import SourceText, Span
from jupyter_stream.plan.logical import Aggregate, AggregateCall, Plan, Project, Retimed, Union
from jupyter_stream.plan.relations import PART
from jupyter_stream.windows import (
    LifetimeWindow,
    RowWindow,
    SessionWindow,
    TimeWindow,
    TupleWindow,
    Window,
    comparable,
    instants,
    length,
)

Keys = tuple[tuple[str, Expr], ...]
_AT_ONE_INSTANT = TimeWindow(1, 1)
"""Answers progress on their end minus a microsecond: these extents hold those of one instant, and end with them."""


def check_together(windows: Mapping[WindowClause, Window], source: SourceText) -> None:
    """Raise for windows whose answers can't stand in one row."""
    (first, one), *others = windows.items()
    for clause in windows:
        if clause.where is not None:
            raise source.error(
                "one of several windows can't have a WHERE of its own",
                clause.where.span,
                "Write FILTER (WHERE ...) behind the aggregate, or one query for each window.",
                UnsupportedError,
            )
    for clause, window in others:
        if window == one:
            continue
        if comparable(one) is None or comparable(window) != comparable(one):
            odd = first if comparable(one) is None else clause
            if isinstance(one, SessionWindow) and isinstance(window, SessionWindow):
                raise source.error(
                    f"{one} and {window} don't end together: a session of the longer gap holds several of the shorter one",
                    odd.span,
                    "Write one query for each gap: both give window_start and window_end, which say what holds what.",
                )
            if isinstance(one, TupleWindow) and isinstance(window, TupleWindow):
                raise source.error(
                    f"extents of {one} and {window} don't end with the same rows, so their answers can't stand in one row",
                    odd.span,
                    "Give them the same SLIDE: avg(x) [RANGE 1 MINUTE SLIDE 1 ROW], avg(x) [RANGE 1 HOUR SLIDE 1 ROW].",
                )
            if isinstance(one, RowWindow) and isinstance(window, RowWindow) and one.slide and window.slide:
                raise source.error(
                    f"extents of {one} and {window} don't end with the same rows, so their answers can't stand in one row",
                    odd.span,
                    "Give them the same SLIDE and PARTITION BY: avg(x) [ROWS 10 SLIDE 5], avg(x) [ROWS 100 SLIDE 5].",
                )
            raise source.error(
                f"{one} and {window} have no instants in common, so their answers can't stand in one row",
                odd.span,
                "Give them a SLIDE over time, max(x) [RANGE 10 MINUTES SLIDE 1 MINUTE], avg(x) [RANGE 1 HOUR SLIDE 5 MINUTES], "
                "or none of them a SLIDE. Or write one query for each window.",
            )


def stacked(parts: Sequence[Aggregate], source: SourceText, span: Span) -> tuple[Plan, dict[str, Expr]]:
    """Aggregates of the same groups over several windows, and what stands above for their columns and for `window_start`.

    Args:
        parts: one for each set of instants, or for each window without SLIDE.
        source: the cell.
        span: where FROM stands.
    """
    keys = {name: Column(f"group {i}", key.dtype) for i, (name, key) in enumerate(parts[0].keys)}
    all_calls = [call for part in parts for call in part.calls]
    own = {
        call.name: f"answer {i}" for i, call in enumerate(all_calls)
    }  # what begins with $ goes through projections as it is
    fields = [Field(k.name, k.dtype) for k in keys.values()] + [Field(own[c.name], c.dtype) for c in all_calls]
    schema = Schema((Field(PART, BIGINT), *fields))
    padded: list[Plan] = []
    for i, part in enumerate(parts):
        known = {call.name for call in part.calls}
        columns: list[tuple[str, Expr]] = [(PART, Literal(i, BIGINT))]
        columns += [(k.name, Column(name, k.dtype)) for name, k in keys.items()]
        for c in all_calls:
            columns.append((own[c.name], Column(c.name, c.dtype) if c.name in known else Literal(None, c.dtype)))
        padded.append(Project(by_time(part, source, span), tuple(columns), schema))
    calls = tuple(
        AggregateCall("first", (Column(own[c.name], c.dtype),), c.name, c.dtype, where=_of(i))
        for i, part in enumerate(parts)
        for c in part.calls
    )
    groups: Keys = tuple(keys.items())
    slides = isinstance(parts[0].window, TimeWindow)
    if slides and not groups:
        groups = (("$all", Literal(0, BIGINT)),)  # or every microsecond between answers would have an empty one
    made = Schema((*(Field(n, e.dtype) for n, e in groups), *(Field(c.name, c.dtype) for c in all_calls)))
    window: Window = _AT_ONE_INSTANT if slides else UNBOUNDED
    plan = Aggregate(Union(tuple(padded), schema), groups, calls, window, made)
    shown: dict[str, Expr] = {}
    for part in parts:
        for call in part.calls:
            if call.function == "count":
                shown[call.name] = _counted(Column(call.name, call.dtype), part.window)
    return plan, shown


def _of(part: int) -> Expr:
    return functions.resolve("=", [Column(PART, BIGINT), Literal(part, BIGINT)])


def _counted(count: Column, window: Window) -> Expr:
    """A count is 0 where its window holds no row, and NULL where it doesn't look."""
    zero = functions.resolve("coalesce", [count, Literal(0, BIGINT)])
    if not isinstance(window, TimeWindow):
        return zero
    return functions.resolve("if", [_looks(window), zero, count])


def _looks(window: TimeWindow) -> Expr:
    """Whether an answer's instant is one of the window's."""
    end = functions.resolve("+", [Column(TS, BIGINT), Literal(1 - window.phase, BIGINT)])
    rest = functions.resolve("pmod", [end, Literal(window.slide, BIGINT)])
    return functions.resolve("=", [rest, Literal(0, BIGINT)])


def start_of(windows: Sequence[Window], dtype: pl.DataType) -> Expr:
    """The start of the longest extent that ends at an answer's instant.

    Args:
        windows: all of them.
        dtype: of window_start and window_end.
    """
    found: Expr = Literal(None, dtype)
    for window in sorted(windows, key=length):
        assert isinstance(window, TimeWindow)
        start: Expr = Literal(None, dtype)
        if window.range is not None:
            span = (
                Literal(window.range, BIGINT)
                if dtype.is_integer()
                else Literal(dt.timedelta(microseconds=window.range), INTERVAL)
            )
            start = functions.resolve("-", [Column(WINDOW_END, dtype), span])
        found = functions.resolve("if", [_looks(window), start, found])
    return found


def parted(
    plan: Plan,
    rows: Plan,
    keys: Keys,
    by_window: Sequence[tuple[Window, tuple[AggregateCall, ...]]],
    where: Expr | None,
) -> list[Aggregate]:
    """One aggregate for each set of instants, and for each window without SLIDE.

    Args:
        plan: what is aggregated, after WHERE.
        rows: the same before it, for windows that count rows.
        keys: the grouping columns.
        by_window: the aggregates of each window.
        where: WHERE.
    """
    sets: dict[object, list[tuple[Window, tuple[AggregateCall, ...]]]] = {}
    for window, calls in by_window:
        sets.setdefault(instants(window) if isinstance(window, TimeWindow) else window, []).append((window, calls))
    found = []
    for together in sets.values():
        (window, calls), *beside = sorted(together, key=lambda w: -length(w[0]))
        own = (*calls, *(call for _, more in beside for call in more))
        schema = Schema((*(Field(n, e.dtype) for n, e in keys), *(Field(c.name, c.dtype) for c in own)))
        part = Aggregate(plan, keys, calls, window, schema, beside=tuple(beside))
        if isinstance(window, RowWindow):
            part = replace(part, input=rows, where=where)
        elif isinstance(window, LifetimeWindow) and window.on is not None:
            part = replace(part, input=Retimed(plan, window.on, plan.schema), window=replace(window, on=None))
        found.append(part)
    return found


__all__ = ["check_together", "parted", "stacked", "start_of"]
