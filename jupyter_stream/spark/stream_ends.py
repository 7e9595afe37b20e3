"""Streams that go on where an earlier run with the same checkpoint has seen their end: what becomes of rows that come then.

Where rows are kept for answers, all of those were made final by the end, and there is nothing to go on with. Other queries take
the rows as if it hadn't been the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from jupyter_stream.core.messages import Failed
from jupyter_stream.spark.inlet import Inlet


def end_notice(inlets: Sequence[Inlet]) -> str | None:
    """What whoever starts such a query should know, None where there is nothing to tell."""
    closed = sorted({i.stream.name for i in inlets if i.closed})
    if not closed:
        return None
    return (
        f"{' and '.join(closed)} had ended when this checkpoint was written, which made answers final: rows that come now go to "
        "errors. To use them, start the query with another --checkpoint"
    )


def without_rows_after_end(
    frame: pl.DataFrame, inlet: Inlet, inlets: Sequence[Inlet], tell: Callable[[str, Failed], None]
) -> pl.DataFrame:
    """The rows without those that came after an end that made answers final.

    Args:
        frame: rows that came, with `$row` where those of earlier runs come again.
        inlet: where they enter.
        inlets: all places where they enter the query.
        tell: told of those rows once, with the name of their stream.
    """
    if not inlet.closed:
        return frame
    after = inlet.spool.after_end(frame)
    if after.height and inlet is next(i for i in inlets if i.closed):
        reasons = pl.Series(
            ["it came after the end of its stream, as recorded in the query's checkpoint"] * after.height
        )
        tell(inlet.stream.name, Failed(after, reasons))
    return frame.head(frame.height - after.height)
