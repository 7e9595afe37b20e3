"""ISTREAM and DSTREAM of windows of rows and of those that slide by rows: what is new or gone from one extent to the next.

CQL's difference between one instant and the one before, as bags. The instants are the extents themselves, which come in their
order: by number within a partition of rows, by time where rows end them (rows of one time end equal extents, which count once).
Keeps the last extent compared, of each partition, and the one that may not be complete.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import shown, together
from jupyter_stream.core.messages import TS, WINDOW_END, WINDOW_ID, WINDOW_START, Batch, Message, Punctuation, ints
from jupyter_stream.flow.protocol import Stateless
from jupyter_stream.plan.logical import ExtentChanges

_SYSTEM = (WINDOW_START, WINDOW_END, WINDOW_ID, TS)
_COUNT, _OTHER, _PART, _PLACE, _NEXT, _SAID, _LAST = "$count", "$other", "$part", "$place", "$next", "$said", "$last"
_BY = [_PART, _PLACE]


class SuccessiveChanges(Stateless):
    """Rows that are in an extent and not in the one before, or the other way round, each in the later one."""

    def __init__(self, plan: ExtentChanges) -> None:
        super().__init__(f"{plan.kind} of extents {plan.window}")
        self._window = plan.window
        self._leaves = plan.kind == "dstream"
        self._named = dict(plan.of_extent)
        self._columns = plan.schema.names
        self._compared = [c for c in self._columns if c not in self._named]
        self._apart = list(plan.partition)
        self._kept = plan.kept
        self._held: list[pl.DataFrame] = []  # the answers of extents that are still to be compared with

    def head(self, most: int) -> pl.DataFrame:
        """The first answers that are still to be compared with."""
        return shown(self._held, most)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Compare the extents that others have followed."""
        if batch.provisional is None and batch.rows:
            self._held.append(batch.frame.with_columns(pl.lit(False).alias(_SAID)))
            yield from self._compare(all_complete=False)

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Compare all extents there are: those before it have been given whole."""
        yield from self._compare(all_complete=True)
        yield from super().on_punctuation(port, punctuation)

    def _compare(self, all_complete: bool) -> Iterator[Message]:
        if not self._held:
            return
        held = self._placed(together(self._held))
        last = pl.col(_PLACE).max().over(_PART) - (0 if all_complete else 1)
        held = held.with_columns(last.alias(_LAST))
        made = self._changes(held)
        complete = pl.col(_PLACE) <= pl.col(_LAST)
        # the one before need not have been given: an extent that WHERE leaves empty has no answer
        newest = pl.when(complete).then(_PLACE).max().over(_PART).fill_null(pl.col(_PLACE))
        kept = held.filter(pl.col(_PLACE) >= newest).with_columns((pl.col(_SAID) | complete).alias(_SAID))
        self._held = [kept.drop(_PART, _PLACE, _LAST)]
        self.control.holds(int(kept.estimated_size()))
        self.control.extra["live_values"] = kept.height
        if made.height:
            yield Batch(made)

    def _placed(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Answers with the place of their extents, which are consecutive numbers; equal extents once."""
        if self._window.counts_rows:
            rows = rows.with_columns(pl.col(WINDOW_ID).alias(_PLACE), pl.lit(0, pl.UInt32()).alias(_PART))
            if not self._apart:
                return rows
            parts = rows.select(self._apart).unique(maintain_order=True).with_row_index(_PART)
            return rows.drop(_PART).join(parts, on=self._apart, how="left", nulls_equal=True, maintain_order="left")
        first = pl.col(WINDOW_ID).min().over(WINDOW_END)
        place = pl.col(WINDOW_END).rank("dense").cast(pl.Int64()).alias(_PLACE)
        return rows.filter(pl.col(WINDOW_ID) == first).with_columns(place, pl.lit(0, pl.UInt32()).alias(_PART))

    def _changes(self, held: pl.DataFrame) -> pl.DataFrame:
        instants = held.group_by(_BY, maintain_order=True).agg(pl.col(*_SYSTEM, _SAID, _LAST).first())
        rows = held if self._kept is None else held.filter(pl.col(self._kept))
        counted = rows.group_by([*self._compared, *_BY], maintain_order=True).agg(
            pl.len().cast(pl.Int64()).alias(_COUNT)
        )
        step = 1 if self._leaves else -1
        other = counted.with_columns(pl.col(_PLACE) - step).rename({_COUNT: _OTHER})
        met = counted.join(other, on=[*self._compared, *_BY], how="left", nulls_equal=True, maintain_order="left")
        more = met.select(
            pl.all().exclude(_COUNT, _OTHER, _PLACE),
            pl.col(_PLACE) + (1 if self._leaves else 0),
            pl.col(_COUNT) - pl.col(_OTHER).fill_null(0),
        ).filter(pl.col(_COUNT) > 0)
        found = self._at(more, instants).sort(WINDOW_END, WINDOW_ID, maintain_order=True)
        copies = np.repeat(np.arange(found.height), found.get_column(_COUNT).to_numpy())
        found = found[pl.Series(copies)].with_columns(
            pl.col(system).alias(name) for name, system in self._named.items()
        )
        return found.select(*self._columns, *_SYSTEM)

    def _at(self, rows: pl.DataFrame, instants: pl.DataFrame) -> pl.DataFrame:
        """Changes with the extents they happen at, as far as these are complete and haven't been compared."""
        if not self._window.counts_rows:
            found = rows.join(instants, on=_BY, how="inner", nulls_equal=True, maintain_order="left")
            return found.filter(~pl.col(_SAID) & (pl.col(_PLACE) <= pl.col(_LAST)))
        # an extent that no row is left in after WHERE has no answer, and is followed by one that has
        found = rows.sort(_PLACE).join_asof(
            instants.sort(_PLACE).with_columns(pl.col(_PLACE).alias(_NEXT)),
            on=_PLACE,
            by=_PART,
            strategy="forward",
            check_sortedness=False,
        )
        found = found.filter(~pl.col(_SAID) & (pl.col(_NEXT) <= pl.col(_LAST)))
        bounds = self._window.bounds(ints(found.get_column(_PLACE)))
        assert bounds is not None
        start, end = (pl.Series(b, dtype=pl.Int64) for b in bounds)
        missing = pl.col(_NEXT) > pl.col(_PLACE)
        return found.with_columns(
            pl.when(missing).then(start).otherwise(WINDOW_START).alias(WINDOW_START),
            pl.when(missing).then(end).otherwise(WINDOW_END).alias(WINDOW_END),
            pl.col(_PLACE).alias(WINDOW_ID),
        )


__all__ = ["SuccessiveChanges"]
