"""Answers of aggregates whose partial results are numbers, wherever these are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from jupyter_stream.arrays.exact import whole
from jupyter_stream.core.messages import Array
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.layout import Layout
from jupyter_stream.partials.store import Found


def answered(
    calls: Sequence[GroupAggregate], layout: Layout, read: Callable[[int], Sequence[Array]], keys: pl.DataFrame
) -> Found:
    """The answers beside their keys.

    Args:
        calls: what is computed.
        layout: which partial results it is computed from.
        read: one of these by index, for each key; sums of whole numbers in two halves.
        keys: what the answers are of.
    """
    columns = []
    lost = np.zeros(keys.height, np.bool_)
    for call, own in zip(calls, layout.own, strict=True):
        made: list[Array] = []
        for partial in own:
            arrays = read(partial)
            if len(arrays) > 1:
                total, beyond = whole(arrays[0], arrays[1], not call.dtype.is_float())
                arrays = [total]
                if beyond is not None:
                    lost |= beyond
            made += arrays
        columns.append(call.function.finish(made, call.dtype).alias(call.name))
    frame = keys.hstack(columns)
    if not lost.any():
        return frame, keys.clear()
    return frame.filter(pl.Series(~lost)), keys.filter(pl.Series(lost))


def layout_of(calls: Sequence[GroupAggregate]) -> Layout:
    """The partial results they are computed from; the first counts all rows."""
    return Layout.of([(c.form, c.inputs[0] if c.inputs else None, c.where) for c in calls])


__all__ = ["answered", "layout_of"]
