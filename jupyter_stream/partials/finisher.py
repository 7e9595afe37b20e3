"""From partials that are numbers to answers: wide sums put together again, and those that are beyond 64 bits told of."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from jupyter_stream.arrays import exact
from jupyter_stream.core.messages import Array, Bools
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.panes import Panes


class Finisher:
    """Gives the answers of aggregates.

    Args:
        aggregates: which.
        own: of each its partials, by index; none where it is not kept as numbers.
        panes: know how each partial is kept.
    """

    def __init__(self, aggregates: Sequence[GroupAggregate], own: Sequence[Sequence[int]], panes: Panes) -> None:
        self._aggregates = tuple(zip(aggregates, own, strict=True))
        self._panes = panes

    def beyond(self, arrays: Sequence[Array]) -> Bools | None:
        """Which cells hold a sum beyond 64 bits that would have to be exact; None if none does."""
        found: Bools | None = None
        for aggregate, own in self._aggregates:
            for index in own:
                if self._panes.is_wide(index) and aggregate.dtype.is_integer():
                    wrong = exact.beyond(arrays[index], arrays[self._panes.low_limb(index)])
                    found = wrong if found is None else found | wrong
        return found if found is not None and found.any() else None

    def finish(self, arrays: Sequence[Array]) -> list[pl.Series | None]:
        """Answers of the aggregates that are kept as numbers, None for the others. No sum is beyond 64 bits."""
        columns: list[pl.Series | None] = []
        for aggregate, own in self._aggregates:
            if not own:
                columns.append(None)
                continue
            partials = [self._values(aggregate, index, arrays) for index in own]
            columns.append(aggregate.function.finish(partials, aggregate.dtype).alias(aggregate.name))
        return columns

    def _values(self, aggregate: GroupAggregate, index: int, arrays: Sequence[Array]) -> Array:
        values: Array = arrays[0] if self._panes.shared(index) else arrays[index]
        if not self._panes.is_wide(index):
            return values
        low = arrays[self._panes.low_limb(index)]
        return exact.joined(values, low) if aggregate.dtype.is_integer() else exact.nearest(values, low)


__all__ = ["Finisher"]
