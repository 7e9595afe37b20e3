"""Bins of slide-by-tuple aggregates whose partials are no numbers: rows of (slot, bin, partial columns).

The general way: each extent's partials are gathered and merged, so an answer costs what its extent holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from jupyter_stream.aggregates.framed import Framed
from jupyter_stream.aggregates.protocol import SLOT, VALUE
from jupyter_stream.core.messages import TS, Int64s, ints
from jupyter_stream.state.group_aggregate import GroupAggregate

_CHUNKS = 32
_PARTIALS_AT_ONCE = 1 << 20
"""Partials looked at together."""
_BIN = "bin"
_PAIR = "pair"


class FrameBins:
    """Bins of one aggregate."""

    def __init__(self, aggregate: GroupAggregate) -> None:
        self._aggregate = aggregate
        self._framed = Framed(aggregate.function, aggregate.form, aggregate.dtype)
        self._open: list[pl.DataFrame] = []
        self._done: pl.DataFrame | None = None
        self.name = aggregate.name

    def snapshot(self) -> FrameBins:
        """Another that goes on by itself; this one is not touched by it."""
        copy = object.__new__(FrameBins)
        copy.__dict__.update(self.__dict__)
        copy._open = list(self._open)
        return copy

    def add(self, slots: Int64s, ts: Int64s, inputs: Sequence[pl.Series]) -> None:
        """Fold rows in: their groups, times and the operator's inputs."""
        columns = [pl.Series(SLOT, slots), pl.Series(_BIN, ts)]
        columns += [inputs[i].alias(VALUE if n == 0 else f"{VALUE}{n}") for n, i in enumerate(self._aggregate.inputs)]
        if self._framed.needs_time:
            columns.append(pl.Series(TS, ts))
        rows = pl.DataFrame(columns)
        if self._aggregate.where is not None:
            rows = rows.filter(inputs[self._aggregate.where])
        self._open.append(self._framed.update(rows, [SLOT, _BIN]))
        if len(self._open) > _CHUNKS:
            self._open = [self._joined(self._open)]

    def _joined(self, parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
        return parts[0] if len(parts) == 1 else self._framed.merge(pl.concat(parts), [SLOT, _BIN])

    def complete(self, until: int) -> None:
        """No row before `until` will come."""
        if not self._open:
            return
        held = self._joined(self._open)
        rest = held.filter(pl.col(_BIN) >= until)
        self._open = [rest] if rest.height else []
        new = held.filter(pl.col(_BIN) < until)
        done = new if self._done is None else pl.concat([self._done, new])
        self._done = done.sort(SLOT, _BIN, maintain_order=True)

    def expire(self, until: int) -> None:
        """Free bins no extent from `until` on holds."""
        if self._done is not None:
            self._done = self._done.filter(pl.col(_BIN) > until)

    def read(self, slots: Int64s, ends: Int64s, span: int) -> pl.Series:
        """Answers of groups in extents ending at `ends`."""
        found = [pl.DataFrame(schema={_PAIR: pl.Int64, VALUE: self._aggregate.dtype})]
        if self._done is not None and self._done.height:
            first, count = self._ranges(slots, ends, span)
            for start, stop in _cuts(count):
                rows = self._done[pl.Series(spread_out(first[start:stop], count[start:stop]))]
                pairs = pl.Series(_PAIR, np.repeat(np.arange(start, stop), count[start:stop]))
                merged = self._framed.merge(rows.with_columns(pairs), [_PAIR])
                found.append(self._framed.finish(merged, [_PAIR]))
        every = pl.DataFrame({_PAIR: np.arange(slots.size)})
        answers = every.join(pl.concat(found), on=_PAIR, how="left", maintain_order="left").get_column(VALUE)
        if (nothing := self._framed.of_nothing()) is not None:
            answers = answers.fill_null(nothing)
        return answers.alias(self.name)

    def _ranges(self, slots: Int64s, ends: Int64s, span: int) -> tuple[Int64s, Int64s]:
        assert self._done is not None
        bins = ints(self._done.get_column(_BIN))
        times = np.unique(bins)
        places = times.size + 1
        at = ints(self._done.get_column(SLOT)) * places + np.searchsorted(times, bins)
        first = np.searchsorted(at, slots * places + np.searchsorted(times, ends - span, side="right"))
        stop = np.searchsorted(at, slots * places + np.searchsorted(times, ends, side="right"))
        return first, stop - first

    @property
    def bytes(self) -> int:
        """Bytes held."""
        held = [*self._open, *([] if self._done is None else [self._done])]
        return sum(int(f.estimated_size()) for f in held)


def _cuts(count: Int64s) -> list[tuple[int, int]]:
    """Runs of ranges that hold few enough rows together, or one range each."""
    total = np.concatenate([[0], np.cumsum(count)])
    cuts, start = [], 0
    while start < count.size:
        stop = int(np.searchsorted(total, total[start] + _PARTIALS_AT_ONCE, side="right")) - 1
        stop = min(count.size, max(stop, start + 1))
        cuts.append((start, stop))
        start = stop
    return cuts


def spread_out(begin: Int64s, count: Int64s) -> Int64s:
    """begin, begin + 1, ... of each range, one range after the other."""
    stop = np.cumsum(count)
    return np.arange(int(stop[-1]) if stop.size else 0) + np.repeat(begin - stop + count, count)


__all__ = ["FrameBins", "spread_out"]
