"""Rows of OVER windows whose answers are final."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.rows import rows_at
from jupyter_stream.core.messages import Int64s
from jupyter_stream.partials.over_folds import OrderedRows, OverAnswers


@dataclass(frozen=True)
class Released:
    """Rows whose answers are final, by time.

    Attributes:
        frame: the rows as they were added; `$ts` is when they fired.
        slots: their partitions.
        positions: their places in their partitions, from 1, in time order; None where nobody asks.
        answers: one column for each aggregate.
    """

    frame: pl.DataFrame
    slots: Int64s
    positions: Int64s | None
    answers: list[OverAnswers]


def by_time(
    frame: pl.DataFrame,
    order: Int64s,
    rows: OrderedRows,
    numbers: Int64s,
    positions: Int64s | None,
    answers: Sequence[OverAnswers],
) -> Released:
    """Rows released by their times, those of equal time as they arrived.

    Args:
        frame: the rows as they came.
        order: which of them is where among the rows in order.
        rows: they in the order of their partitions.
        numbers: the arrival number of each, as all that follows.
        positions: places in partitions.
        answers: of each aggregate.
    """
    if order.size == 1:
        return Released(frame, rows.slots, positions, list(answers))
    back = order_of(rows.times, numbers)
    at = pl.Series(back)
    made = [OverAnswers(a.values.gather(at), None if a.beyond is None else a.beyond[back]) for a in answers]
    return Released(rows_at(frame, order[back]), rows.slots[back], None if positions is None else positions[back], made)


__all__ = ["Released", "by_time"]
