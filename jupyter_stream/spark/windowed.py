"""Windows on Spark: which rows of the table go for one, and its DataFrame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from jupyter_stream.core.messages import BROKEN, TS, WINDOW_END, WINDOW_ID, WINDOW_START
from jupyter_stream.functions.types import spark_name
from jupyter_stream.plan.logical import Aggregate
from jupyter_stream.plan.time_of import integer_time
from jupyter_stream.plan.wording import call_in_words
from jupyter_stream.spark.aggregates import ROWS_OF_CALLS, aggregate_sql, may_overflow, overflow_sql, support_of
from jupyter_stream.spark.expressions import SHIFT, TIME, instant, item, micros, quoted
from jupyter_stream.spark.node_support import Around, Frame, NodeSupport, Part
from jupyter_stream.spark.rows import (
    ABOVE_JOINS_WITHOUT_BOUNDS,
    EMPTY_EXTENTS,
    EMPTY_EXTENTS_BELOW,
    MANY_EXTENTS,
    ORDERED_OF_WINDOWS,
    SEVERAL_WINDOWS,
    WINDOW_OVER_WINDOWS,
    Support,
    of_window,
)
from jupyter_stream.spark.stage import (
    Stage,
    below,
    has_empty_extents,
    on_column,
    ordered,
    unbounded,
    window_of,
    windows_below,
)
from jupyter_stream.spark.written import expr_for
from jupyter_stream.windows import WINDOWS, Window

OVERFLOWED: Final = "$overflowed"
"""Whether a sum of an answer is beyond BIGINT."""
_EXTENT: Final = "$extent"
_MOST_EXTENTS: Final = 100
"""Of a row: Spark makes a copy of it for each, and holds a state for each; with 3,000 three rows took minutes."""


def _parts(plan: Aggregate) -> Iterator[Part]:
    window = plan.window
    on_one = window.on is None or on_column(plan) is not None
    yield f"window {window}", of_window(window.on_spark([e for _, e in plan.keys], on_one))


def _also(plan: Aggregate, outermost: bool) -> Iterator[Part]:
    for window, _ in plan.other_windows:
        yield f"window {window} beside it", SEVERAL_WINDOWS
    if windows_below(plan):
        yield "window over windows", WINDOW_OVER_WINDOWS
    if has_empty_extents(plan):
        yield "empty extents", EMPTY_EXTENTS if outermost else EMPTY_EXTENTS_BELOW
    if any(unbounded(n) for n in below(plan)):
        yield "window over it", ABOVE_JOINS_WITHOUT_BOUNDS
    if _extents_of_a_row(plan.window) > _MOST_EXTENTS:
        yield f"rows of {_extents_of_a_row(plan.window):,} extents each", MANY_EXTENTS
    for inner in filter(None, map(window_of, below(plan))):
        if inner.above_on_spark is not None:
            yield f"window over {inner}", of_window(inner.above_on_spark)
    for call in plan.aggregates:
        yield call_in_words(call, plan), support_of(call)
    if ordered(plan) and any(isinstance(n, Stage) for n in below(plan)):
        yield "order of arrival", ORDERED_OF_WINDOWS


def _extents_of_a_row(window: Window) -> int:
    """In how many extents a row is, for each of which Spark makes a copy of it."""
    held = None if window.length is None else window.extents_of(np.zeros(1, np.int64))
    return 1 if held is None else int(held[1][0] - held[0][0]) + 1


def _translated(plan: Aggregate, inputs: Sequence[Frame], around: Around) -> Frame:
    grouped, columns = grouped_rows(plan, inputs[0], guarded=around.guarded)
    return grouped.selectExpr(*(f"{made} AS {quoted(name)}" for name, made in columns.items()))


def grouped_rows(plan: Aggregate, below: Frame, *, guarded: bool) -> tuple[Frame, dict[str, str]]:
    """The groups of each extent, and what each column of the node, and each system column, is of theirs in Spark's SQL."""
    window = plan.window
    # aggregates read time and arrival number, keys are computed beside them; all at once, since Spark analyses the whole plan
    # anew with every step of it, which takes it 10 milliseconds and more
    keys = [f"$key{i}" for i in range(len(plan.keys))]
    groups = [quoted(_EXTENT), *(quoted(k) for k in keys)]
    beside = [item(e, k) for k, (_, e) in zip(keys, plan.keys, strict=True)]
    below, start, end, number = _in_extents(below, window, beside)
    made = [f"{aggregate_sql(c, guarded)} AS {quoted(c.name)}" for c in plan.aggregates]
    overflows = [overflow_sql(c) for c in plan.aggregates if guarded and may_overflow(c)]
    if overflows:
        made.append(f"({' OR '.join(overflows)}) AS {quoted(OVERFLOWED)}")
    expr = expr_for(below)
    grouped = below.groupBy(*groups).agg(*(expr(m) for m in made or ["1 AS `$none`"]))
    shown = micros if integer_time(plan) else instant
    columns = {
        name: f"CAST({quoted(k)} AS {spark_name(e.dtype)})" for k, (name, e) in zip(keys, plan.keys, strict=True)
    }
    columns |= {
        name: quoted(name) for name in (*(c.name for c in plan.aggregates), *([OVERFLOWED] if overflows else []))
    }
    columns |= {WINDOW_START: shown(start), WINDOW_END: shown(end), WINDOW_ID: number}
    return grouped, {**columns, TS: f"window_time({quoted(_EXTENT)})"}


def _length(count: int) -> str:
    return f"'{count} microseconds'"


def _in_extents(below: Frame, window: Window, beside: Sequence[str]) -> tuple[Frame, str, str, str]:
    """Each row in each of its extents: Spark's start at `startTime` plus multiples of the slide, ours end at such.

    Args:
        below: the rows.
        window: the window.
        beside: what else is to be computed of each row.
    """
    ends, span = window.schedule, window.span
    assert ends is not None and span is not None
    length = max(span, ends.slide)
    opens = (ends.phase + SHIFT - length) % ends.slide
    lengths = [_length(n) for n in (length, ends.slide, *([opens] if opens else []))]
    found = below.selectExpr("*", f"window({', '.join([TIME, *lengths])}) AS {quoted(_EXTENT)}", *beside)
    start, end = f"{quoted(_EXTENT)}.start", f"{quoted(_EXTENT)}.end"
    conditions = []
    if length != span:  # Spark has no gaps between extents: whole slides, and of each the rows in its last part
        start = f"timestamp_micros(unix_micros({end}) - {span}L)"
        conditions.append(f"{TIME} >= {start}")
    if BROKEN in below.columns:  # a late row is used in the extents that were open when it came
        conditions.append(f"({quoted(BROKEN)} IS NULL OR {end} > {quoted(BROKEN)})")
    if conditions:
        found = found.where(" AND ".join(conditions))
    return found, start, end, f"({micros(end)} - {ends.phase}L) div {ends.slide}L"


def _rows_of_windows() -> Iterator[Support]:
    for window in WINDOWS:
        yield from map(of_window, window.spark_forms)
        if window.above_on_spark is not None:
            yield of_window(window.above_on_spark)


WINDOWED: Final = NodeSupport[Aggregate](
    rows=(
        *_rows_of_windows(),
        *(
            MANY_EXTENTS,
            SEVERAL_WINDOWS,
            WINDOW_OVER_WINDOWS,
            EMPTY_EXTENTS,
            EMPTY_EXTENTS_BELOW,
            ABOVE_JOINS_WITHOUT_BOUNDS,
        ),
        *(*ROWS_OF_CALLS, ORDERED_OF_WINDOWS),
    ),
    parts=_parts,
    also=_also,
    translate=_translated,
    spread=lambda plan: plan.window.spread_by([e for _, e in plan.keys]),
)
