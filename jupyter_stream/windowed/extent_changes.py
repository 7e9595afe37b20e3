"""ISTREAM and DSTREAM of a window with SLIDE: what consecutive extents have not in common, as bags.

CQL's difference between one instant and the one before, where the instants are those the query looks at. Keeps the values of the
last final extent, each with its count, and what waits for its extent to be final.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import bytes_of, shown
from jupyter_stream.core.messages import TS, WINDOW_END, WINDOW_ID, WINDOW_START, Batch, Message, Punctuation, ints
from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.flow.protocol import Recall, Stateless
from jupyter_stream.plan.logical import ExtentChanges
from jupyter_stream.windowed.extent_bounds import extent_bounds
from jupyter_stream.windows import Schedule

_COUNT, _OTHER = "$count", "$other"


class ExtentChangesOperator(Stateless):
    """Rows that are in an extent and not in the one before, or the other way round, each in the later one."""

    def __init__(self, plan: ExtentChanges, ends: Schedule) -> None:
        super().__init__(f"{plan.kind} of extents {plan.window}")
        self._window, self._ends = plan.window, ends
        self._leaves = plan.kind == "dstream"
        self._named = dict(plan.of_extent)
        self._columns = plan.schema.names
        self._compared = [c for c in self._columns if c not in self._named]
        self._time = pl.Int64() if plan.integer_time else TIMESTAMP
        self._held: list[pl.DataFrame] = []  # values, their extents and their counts
        self._said: int | None = None  # the last extent looked at

    def head(self, most: int) -> pl.DataFrame:
        """The first values of extents that are still to be compared with."""
        return shown(self._held, most)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep answers until their extents are final."""
        if batch.provisional is None and batch.rows:
            self._held.append(self._counted(batch.frame.with_columns(pl.lit(1, pl.Int64).alias(_COUNT))))
            self._report()
        return iter(())

    def _counted(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.group_by([*self._compared, WINDOW_ID], maintain_order=True).agg(pl.col(_COUNT).sum())

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give what changes at the extents that are over."""
        if self._held:
            held = self._counted(pl.concat(self._held))
            ended = punctuation.value == MAX_TIME
            last = None if ended else self._ends.closed(punctuation.value)
            made = self._changes(held, last)
            kept = held.clear() if last is None else held.filter(pl.col(WINDOW_ID) >= last)
            self._held = [kept] if kept.height else []
            self._said = last
            self._report()
            if made.height:
                yield Batch(made)
        yield from super().on_punctuation(port, punctuation)

    def _changes(self, held: pl.DataFrame, last: int | None) -> pl.DataFrame:
        """What changes from one extent to the next, up to that one."""
        other = held.select(
            *self._compared, pl.col(WINDOW_ID) - (1 if self._leaves else -1), pl.col(_COUNT).alias(_OTHER)
        )
        by = [*self._compared, WINDOW_ID]
        met = held.join(other, on=by, how="left", nulls_equal=True, maintain_order="left")
        more = pl.col(_COUNT) - pl.col(_OTHER).fill_null(0)
        rows = met.with_columns(more.alias(_COUNT), pl.col(WINDOW_ID) + (1 if self._leaves else 0))
        looked = pl.lit(True)
        if last is not None:
            looked &= pl.col(WINDOW_ID) <= last
        elif self._leaves and self._window.span is None:
            # a landmark lets nothing go, and after its last extent nobody looks
            looked &= pl.col(WINDOW_ID) <= held.get_column(WINDOW_ID).max()
        if self._said is not None:
            looked &= pl.col(WINDOW_ID) > self._said
        rows = rows.filter(looked & (pl.col(_COUNT) > 0)).sort(WINDOW_ID, maintain_order=True)
        copies = np.repeat(np.arange(rows.height), rows.get_column(_COUNT).to_numpy())
        return self._in_extents(rows.drop(_COUNT, _OTHER)[pl.Series(copies)])

    def _in_extents(self, rows: pl.DataFrame) -> pl.DataFrame:
        rows = rows.with_columns(extent_bounds(self._window, ints(rows.get_column(WINDOW_ID)), self._time))
        rows = rows.with_columns(pl.col(system).alias(name) for name, system in self._named.items())
        return rows.select(*self._columns, WINDOW_START, WINDOW_END, WINDOW_ID, TS)

    def recalls(self) -> Recall | None:
        """The rows of the extents it will look at, the last one among them."""
        held = [int(ints(f.get_column(WINDOW_ID)).min()) for f in self._held]
        ends = self._ends.end(min(held)) if held else MAX_TIME
        return Recall(ends, self._said)

    def _report(self) -> None:
        self.control.holds(bytes_of(self._held))
        self.control.extra["live_values"] = sum(f.height for f in self._held)


__all__ = ["ExtentChangesOperator"]
