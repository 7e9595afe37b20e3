"""Which answers late rows missed, and what those would have been. From the answers given and the rows, nothing else.

An answer with one row more is known where the aggregate is: `count`, `sum`, `min` and `max` from themselves, `avg` with the
count of the same values beside it. Everything else would need rows that are gone, and is said to be unknown.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.arrays.walking import nth
from jupyter_stream.core.messages import TS, WINDOW_END, WINDOW_ID, WINDOW_START, Int64s
from jupyter_stream.core.snapshot import LateRows
from jupyter_stream.functions.expression import Column, Expr
from jupyter_stream.functions.kernel import compile_kernel
from jupyter_stream.functions.steps import with_steps
from jupyter_stream.plan.logical import Aggregate, AggregateCall, BoundQuery, Filter, Plan, Project, Scan, down_to
from jupyter_stream.windows import Window

MOST_ROWS: Final = 100
"""Late rows looked at: the newest."""
MOST_ANSWERS: Final = 8
"""Answers shown that one late row missed: the newest of them."""
_END: Final = "$late_end"
_FOUND: Final = "$late_found"


def missed(query: BoundQuery, late: pl.DataFrame, answers: pl.DataFrame, *, whole: bool) -> LateRows | None:
    """The newest late rows beside the answers they missed.

    Args:
        query: one stream's aggregates over a time window.
        late: its late rows: the stream's columns, then the punctuation they broke and how many answers they missed.
        answers: the newest final answers.
        whole: whether these are all there ever were.

    Returns:
        None where the query is of another kind, or no late row missed an answer that is still there.
    """
    found = _parts(query.plan)
    time = query.time_column
    if found is None or time is None or time not in answers.columns or not answers.height:
        return None
    project, having, aggregate, below = found
    window = aggregate.window
    scan = below[-1]
    assert isinstance(scan, Scan)
    column = scan.stream.time.column
    if column is None or late.schema.get(column) != pl.Datetime("us") or answers.schema[time] != pl.Datetime("us"):
        return None
    promised, misses = late.columns[-2:]
    rows = _rows_below(late.tail(MOST_ROWS), below, column).filter(pl.col(misses) > 0)
    if not rows.height:
        return None
    pairs = _pairs(rows, rows.get_column(misses).to_numpy(), window)
    ends = answers.get_column(time)
    oldest = ends.min()
    # where older answers have left, the oldest of those here may be there in part
    pairs = pairs.filter(pl.col(_END) >= oldest if whole else pl.col(_END) > oldest)
    if not pairs.height:
        return None
    names = {e.name: n for n, e in project.items if isinstance(e, Column)}
    if any(key not in names for key, _ in aggregate.keys):
        return None
    by = [time, *(names[key] for key, _ in aggregate.keys)]
    own = {names[key]: _value(pairs, e).cast(answers.schema[names[key]]) for key, e in aggregate.keys}
    keys = pairs.select(pl.col(_END).alias(time), **own)
    given = keys.join(
        answers.with_columns(pl.lit(True).alias(_FOUND)).unique(by, keep="last"), on=by, how="left", nulls_equal=True,
        maintain_order="left",
    )  # fmt: skip
    values = {n: e for n, e in project.items if n not in by and not _of_window(e)}
    would, why = _corrected(values, aggregate, having, pairs, given)
    return LateRows(
        rows=pairs.select(late.columns[:-2]),
        came=pairs.get_column(promised).cast(pl.Int64) - pairs.get_column(TS),
        at=pairs.get_column(_END).cast(pl.Int64),
        keys=keys.drop(time),
        given=given.select(list(values)),
        would=would,
        why=why,
    )


def _corrected(
    values: dict[str, Expr], aggregate: Aggregate, having: bool, pairs: pl.DataFrame, given: pl.DataFrame
) -> tuple[pl.DataFrame, dict[str, str]]:
    """What answers would have been with each late row among their rows, and why some of that can't be told.

    Args:
        values: the answer's columns that are neither keys nor the window's.
        aggregate: what they are of.
        having: whether HAVING leaves answers out.
        pairs: the late rows, once for each answer they missed.
        given: the answers, row by row beside them.
    """
    calls = {call.name: call for call in aggregate.aggregates}
    counts = {
        _key(call): n for n, e in values.items() if (call := _call(e, calls)) is not None and call.function == "count"
    }
    would, why = {}, {}
    for name, expr in values.items():
        call = _call(expr, calls)
        corrected = None if call is None else _with_one_more(call, name, pairs, given, counts)
        if corrected is None:
            why[name] = (
                "an average can be corrected only if the query has the count of the same values"
                if call is not None and call.function == "avg"
                else "it needs all rows of the window, which are no longer kept"
            )
            corrected = pl.Series([None] * pairs.height)
        elif having:
            why[name] = "HAVING may have left it out"
            corrected = corrected.set(given.get_column(_FOUND).is_null(), None)
        would[name] = corrected.cast(given.schema[name])
    return pl.DataFrame(would), why


def _with_one_more(
    call: AggregateCall, name: str, pairs: pl.DataFrame, given: pl.DataFrame, counts: dict[object, str]
) -> pl.Series | None:
    """The answers of a column with the late row among their rows; None where they don't say."""
    if call.distinct or call.parameters or call.function not in ("count", "sum", "min", "max", "avg"):
        return None
    old = given.get_column(name)
    where = call.where
    counted = pl.repeat(True, pairs.height, eager=True) if where is None else _value(pairs, where).fill_null(False)
    if call.args:
        new = _value(pairs, call.args[0])
        counted = counted & new.is_not_null()
    if call.function == "count":
        return old.fill_null(0) + counted.cast(pl.Int64)
    value = new.set(~counted, None)
    if call.function == "avg":
        beside = counts.get(_key(call))
        if beside is None:
            return None
        frame = pl.DataFrame({"old": old, "n": given.get_column(beside).fill_null(0), "new": value.cast(pl.Float64)})
        mean = (pl.col("old").fill_null(0.0) * pl.col("n") + pl.col("new")) / (pl.col("n") + 1)
        return frame.select(pl.when(pl.col("new").is_null()).then("old").otherwise(mean)).to_series()
    both = pl.DataFrame({"old": old, "new": value.cast(old.dtype)})
    if call.function == "sum":
        return both.select(
            pl.when(pl.col("old").is_null()).then("new").otherwise(pl.col("old") + pl.col("new").fill_null(0))
        ).to_series()
    return both.select(
        pl.min_horizontal("old", "new") if call.function == "min" else pl.max_horizontal("old", "new")
    ).to_series()


def _key(call: AggregateCall) -> object:
    """What an average and the count of its values have in common."""
    return call.args, call.where, call.distinct


def _call(expr: Expr, calls: dict[str, AggregateCall]) -> AggregateCall | None:
    """The aggregate a column is, where it is one and nothing more."""
    return calls.get(expr.name) if isinstance(expr, Column) else None


def _of_window(expr: Expr) -> bool:
    return isinstance(expr, Column) and expr.name in (WINDOW_START, WINDOW_END, WINDOW_ID)


def _parts(plan: Plan) -> tuple[Project, bool, Aggregate, list[Plan]] | None:
    """What is selected, whether HAVING leaves answers out, the aggregate, and what is below it down to the stream."""
    if not isinstance(plan, Project):
        return None
    having = isinstance(plan.input, Filter)
    aggregate = plan.input.input if isinstance(plan.input, Filter) else plan.input
    if (
        not isinstance(aggregate, Aggregate)
        or aggregate.other_windows
        or aggregate.user
        or aggregate.ends
        or aggregate.where
    ):
        return None
    if aggregate.window.schedule is None or aggregate.window.on is not None:
        return None
    below = down_to(aggregate.input, Filter)
    return (plan, having, aggregate, below) if isinstance(below[-1], Scan) else None


def _rows_below(late: pl.DataFrame, below: list[Plan], column: str) -> pl.DataFrame:
    """The late rows that WHERE lets through, with their time."""
    rows = late.with_columns(pl.col(column).cast(pl.Int64).alias(TS))
    for node in reversed(below):
        if isinstance(node, Filter):
            rows = rows.filter(_value(rows, node.predicate).fill_null(False))
    return rows


def _pairs(rows: pl.DataFrame, count: Int64s, window: Window) -> pl.DataFrame:
    """Each row once for every answer it missed, the newest `MOST_ANSWERS` of them."""
    holding = window.extents_of(rows.get_column(TS).to_numpy())
    assert holding is not None
    first, _ = holding
    shown = np.minimum(count, MOST_ANSWERS)
    at = np.repeat(np.arange(rows.height), shown)
    extent = first[at] + (count - shown)[at] + nth(shown)
    bounds = window.bounds(extent)
    assert bounds is not None
    ends = pl.Series(_END, bounds[1], dtype=pl.Int64).cast(pl.Datetime("us"))
    return rows[at].with_columns(ends)


def _value(frame: pl.DataFrame, expr: Expr) -> pl.Series:
    """An expression's value for each row of a frame."""
    made = compile_kernel(expr)
    found = with_steps(frame, made.steps, [made.value]).select(made.value).to_series()
    return found if len(found) == frame.height else found.new_from_index(0, frame.height)  # a literal
