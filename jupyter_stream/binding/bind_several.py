"""Several windows in one query, each behind its aggregates: which go together, and one row for what all say of an instant.

Windows that look at the same instants are one node of the plan (`Aggregate.other_windows`). Where instants differ, or where there
are none because windows have no SLIDE, each is an aggregate of its own here: their answers, one after another, are put together
by group and instant again.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from jupyter_stream import aggregates, functions
from jupyter_stream.binding.as_relation import UNBOUNDED, by_time
from jupyter_stream.core.messages import TS, WINDOW_END
from jupyter_stream.core.schema import INTERVAL, Field, Schema
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions import Column, Expr, Literal
from jupyter_stream.functions.types import BIGINT
from jupyter_stream.plan.logical import Aggregate, AggregateCall, Plan, Project, Retimed, Union
from jupyter_stream.plan.relations import PART
from jupyter_stream.syntax.query_syntax import WindowClause
from jupyter_stream.syntax.source_text import SourceText, Span
from jupyter_stream.windows import Schedule, TimeWindow, Window, length_of

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
                "Write FILTER (WHERE ...) after the aggregate, or one query for each window.",
                UnsupportedError,
            )
    for clause, window in others:
        if window == one:
            continue
        if one.comparable is None or window.comparable != one.comparable:
            odd = first if one.comparable is None else clause
            message, hint = one.unlike(window)
            raise source.error(message, odd.span, hint)


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
    slides = parts[0].window.sliding
    if slides and not groups:
        groups = (("$all", Literal(0, BIGINT)),)  # or every microsecond between answers would have an empty one
    made = Schema((*(Field(n, e.dtype) for n, e in groups), *(Field(c.name, c.dtype) for c in all_calls)))
    window: Window = _AT_ONE_INSTANT if slides else UNBOUNDED
    plan = Aggregate(Union(tuple(padded), schema), groups, calls, window, made)
    shown: dict[str, Expr] = {}
    for part in parts:
        for call in part.calls:
            if aggregates.of_nothing(call.function) == 0:
                shown[call.name] = _counted(Column(call.name, call.dtype), part.window)
    return plan, shown


def _of(part: int) -> Expr:
    return functions.resolve("=", [Column(PART, BIGINT), Literal(part, BIGINT)])


def _counted(count: Column, window: Window) -> Expr:
    """A count is 0 where its window holds no row, and NULL where it doesn't look."""
    zero = functions.resolve("coalesce", [count, Literal(0, BIGINT)])
    if window.schedule is None:
        return zero
    return functions.resolve("if", [_instant(window.schedule), zero, count])


def _instant(schedule: Schedule) -> Expr:
    """Whether an answer's instant is one of a window's."""
    end = functions.resolve("+", [Column(TS, BIGINT), Literal(1 - schedule.phase, BIGINT)])
    rest = functions.resolve("pmod", [end, Literal(schedule.slide, BIGINT)])
    return functions.resolve("=", [rest, Literal(0, BIGINT)])


def start_of(windows: Sequence[Window], dtype: pl.DataType) -> Expr:
    """The start of the longest extent that ends at an answer's instant.

    Args:
        windows: all of them.
        dtype: of window_start and window_end.
    """
    found: Expr = Literal(None, dtype)
    for window in sorted(windows, key=length_of):
        assert window.schedule is not None
        start: Expr = Literal(None, dtype)
        if window.span is not None:
            span = (
                Literal(window.span, BIGINT)
                if dtype.is_integer()
                else Literal(dt.timedelta(microseconds=window.span), INTERVAL)
            )
            start = functions.resolve("-", [Column(WINDOW_END, dtype), span])
        found = functions.resolve("if", [_instant(window.schedule), start, found])
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
        sets.setdefault(window.instants if window.sliding else window, []).append((window, calls))
    found = []
    for together in sets.values():
        (window, calls), *others = sorted(together, key=lambda w: -length_of(w[0]))
        own = (*calls, *(call for _, more in others for call in more))
        schema = Schema((*(Field(n, e.dtype) for n, e in keys), *(Field(c.name, c.dtype) for c in own)))
        part = Aggregate(plan, keys, calls, window, schema, other_windows=tuple(others))
        if window.counts_rows:
            part = replace(part, input=rows, where=where)
        elif window.lifetime is not None and window.on is not None:
            part = replace(part, input=Retimed(plan, window.on, plan.schema), window=window.by_own_time())
        found.append(part)
    return found


__all__ = ["check_together", "parted", "stacked", "start_of"]
