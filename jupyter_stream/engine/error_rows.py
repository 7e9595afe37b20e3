"""What `errors(name)` shows of rows that an expression failed on: the row as JSON, and why."""

from __future__ import annotations

from typing import Final

import polars as pl

from jupyter_stream.core.far import as_json
from jupyter_stream.core.messages import TS, WINDOW_END, WINDOW_START, Failed, ints
from jupyter_stream.core.schema import Schema
from jupyter_stream.core.time import show
from jupyter_stream.plan.logical import VALUE

ERRORS_SCHEMA: Final = Schema.of((("raw", pl.String()), ("reason", pl.String())))
"""Columns of `errors(name)`."""


def as_errors(failed: Failed, integer_time: bool = False) -> pl.DataFrame:
    """Rows of `errors(name)`: `raw`, a JSON object, and `reason`.

    An answer shows its extent beside its own columns; what has no columns at all shows its time. Columns that nobody wrote,
    about a SELECT that stands for a value, are left out.

    Args:
        failed: the rows.
        integer_time: whether their times are integers rather than timestamps.
    """
    frame = failed.frame
    columns = [pl.col(c) for c in frame.columns if not c.startswith(("$", VALUE))]
    for system, name in ((WINDOW_START, "window_start"), (WINDOW_END, "window_end")):
        if system in frame.columns and name not in frame.columns:
            columns.append(pl.col(system).alias(name))
    if columns:
        raw = as_json(frame.select(columns))
    else:
        times = ints(frame.get_column(TS)).tolist() if TS in frame.columns else [None] * len(failed.reasons)
        at = pl.DataFrame({"at": times if integer_time else [show(t) for t in times]})
        raw = as_json(at)
    return pl.DataFrame([raw, failed.reasons.cast(pl.String).alias("reason")])
