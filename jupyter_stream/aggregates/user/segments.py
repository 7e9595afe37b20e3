"""Many groups' rows, one group behind the other, run over from the beginning: a piece of the columns for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from jupyter_stream.aggregates.user.protocol import Program
from jupyter_stream.core.messages import Int64s
from jupyter_stream.functions.scalar import RowError

Outcome: TypeAlias = tuple[Sequence[Any] | None, str | None]
"""What was returned, or why nothing was. Tuples where there are many: the garbage collector leaves those of numbers alone."""


def attempt(run: Callable[[], list[Any]]) -> Outcome:
    """What a piece of a user's code returns, or why it doesn't."""
    try:
        return run(), None
    except RowError as error:
        return None, str(error)


def as_tuples(columns: Sequence[pl.Series], height: int) -> list[tuple[Any, ...]]:
    """Columns as rows."""
    return list(zip(*(c.to_list() for c in columns), strict=True)) if columns else [()] * height


def over_segments(program: Program, columns: Sequence[pl.Series], lengths: Int64s) -> list[Outcome]:
    """Run over each group's rows.

    Args:
        program: what is run.
        columns: its arguments, the rows of each group together and in order.
        lengths: how many rows each group has, at least one.
    """
    stops = np.cumsum(lengths).tolist()
    known = program.at_once(columns, lengths)
    if known is not None and None not in known:
        return [k for k in known if k is not None]
    run = program.slices(columns, stops[-1] if stops else 0)
    if known is None:
        return [attempt(partial(run, start, stop)) for start, stop in zip([0, *stops], stops, strict=False)]
    each = zip(known, [0, *stops], stops, strict=False)
    return [outcome if outcome is not None else attempt(partial(run, *where)) for outcome, *where in each]


__all__ = ["Outcome", "as_tuples", "attempt", "over_segments"]
