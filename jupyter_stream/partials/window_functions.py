"""SQL's window functions over rows in order: ranks, neighbours, values of frames, and aggregates over frames.

Semantics of SQL:2011 (6.10): ranks and neighbours go by the partition, `first_value` and its like and aggregates by the frame.
All at once over NumPy arrays; an aggregate is worked out once for each frame that differs from the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.arrays.runs import begins_run
from jupyter_stream.core.messages import Array, Bools, Int64s, ints
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.over_folds import OrderedRows, OverAnswers, over_ranges
from jupyter_stream.partials.row_frames import PeerPlaces, bounds
from jupyter_stream.plan.logical import OrderKey, WindowCall


@dataclass(frozen=True)
class Answered:
    """Rows in order, with what the functions make of them.

    Attributes:
        order: the place of each among those that came.
        columns: one for each call.
        beyond: rows an aggregate of which is beyond BIGINT; None for none.
    """

    order: Int64s
    columns: list[pl.Series]
    beyond: Bools | None


class RowFunctions:
    """The calls of one OVER.

    Args:
        order: its ORDER BY.
        calls: what is computed.
        inputs: columns that hold arguments and FILTER conditions of aggregates.
        aggregates: over those, by index.
        names: the columns by which rows are told apart that the order leaves equal.
    """

    def __init__(
        self,
        order: Sequence[OrderKey],
        calls: Sequence[WindowCall],
        inputs: Sequence[str],
        aggregates: Sequence[GroupAggregate],
        names: Sequence[str],
    ) -> None:
        self._order = tuple(order)
        self._calls = tuple(calls)
        self._inputs = tuple(inputs)
        self._aggregates = {a.name: a for a in aggregates}
        keys = {k.column for k in order}
        self._rest = [name for name in names if name not in keys]

    def answers(self, rows: pl.DataFrame, partitions: Int64s) -> Answered:
        """The functions of rows, which lie in any order, by the numbers of their partitions."""
        order = self._sorted(rows, partitions)
        at = pl.Series(order)
        rows = rows.select(pl.all().gather(at)) if rows.height else rows
        partitions = partitions[order]
        keys = [rows.get_column(k.column) for k in self._order]
        places = PeerPlaces.of(partitions, keys)
        descending = bool(self._order) and self._order[0].descending
        columns: list[pl.Series] = []
        beyond: Bools | None = None
        for call in self._calls:
            first, stop = bounds(call.frame, places, keys, descending)
            if call.aggregate is None:
                made = _FUNCTIONS[call.function](_CallOver(call, rows, places, first, stop))
                columns.append(made.cast(call.dtype).alias(call.name))
                continue
            found = self._aggregated(self._aggregates[call.name], rows, partitions, places, first, stop)
            columns.append(found.values.cast(call.dtype).alias(call.name))
            if found.beyond is not None:
                beyond = found.beyond if beyond is None else beyond | found.beyond
        return Answered(order, columns, beyond)

    def _sorted(self, rows: pl.DataFrame, partitions: Int64s) -> Int64s:
        by = [pl.Series("$partition", partitions), *(rows.get_column(k.column) for k in self._order)]
        by += [rows.get_column(name) for name in self._rest]
        keys = pl.DataFrame([column.alias(f"{i}") for i, column in enumerate(by)])
        falls = [False, *(k.descending for k in self._order), *(False for _ in self._rest)]
        last = [False, *(k.nulls_last for k in self._order), *(False for _ in self._rest)]
        found = pl.arg_sort_by(keys.columns, descending=falls, nulls_last=last, maintain_order=True)
        return ints(keys.select(found).to_series())

    def _aggregated(
        self,
        aggregate: GroupAggregate,
        rows: pl.DataFrame,
        partitions: Int64s,
        places: PeerPlaces,
        first: Int64s,
        stop: Int64s,
    ) -> OverAnswers:
        columns = [rows.get_column(c) for c in self._inputs] or [pl.Series(partitions)]
        places_in_order = np.arange(rows.height)  # what goes by time goes by the order of OVER here
        ordered = OrderedRows(partitions, places_in_order, columns, places.start)
        # many rows may have one frame: all of a partition have, or all peers
        new = begins_run(first, stop)
        each, which = np.flatnonzero(new), np.cumsum(new) - 1
        found = over_ranges(aggregate, ordered, first[each], stop[each])
        values = found.values if each.size == first.size else found.values.gather(pl.Series(which))
        return OverAnswers(values, None if found.beyond is None else found.beyond[which])


@dataclass(frozen=True)
class _CallOver:
    """One call over rows in order.

    Attributes:
        call: which.
        rows: they.
        places: their partitions and peers.
        first: where the frame of each begins.
        stop: where it ends.
    """

    call: WindowCall
    rows: pl.DataFrame
    places: PeerPlaces
    first: Int64s
    stop: Int64s

    def argument(self, number: int = 0) -> pl.Series:
        """The column of an argument."""
        return self.rows.get_column(self.call.args[number].name)  # type: ignore[union-attr]  # the binder makes columns

    @property
    def known(self) -> Int64s:
        """The rows that count: without those whose argument is NULL, where these are skipped."""
        if not self.call.skips_nulls:
            return np.arange(self.rows.height)
        return np.flatnonzero(self.argument().is_not_null().to_numpy())

    def values(self, known: Int64s, at: Int64s, there: Bools) -> pl.Series:
        """The argument at places among those known; NULL, or the default, where there is none."""
        if not known.size:
            taken = pl.Series([None], dtype=self.argument().dtype).new_from_index(0, at.size)
        else:
            taken = self.argument().gather(pl.Series(known[np.clip(at, 0, known.size - 1)]))
        default = self.argument(1) if len(self.call.args) > 1 else pl.Series([None], dtype=taken.dtype)
        if len(default) != at.size:
            default = default.new_from_index(0, at.size)
        return taken.zip_with(pl.Series(there), default.cast(taken.dtype))


def _series(values: Array) -> pl.Series:
    return pl.Series(values)


def _row_number(asked: _CallOver) -> pl.Series:
    return _series(np.arange(asked.rows.height) - asked.places.start + 1)


def _rank(asked: _CallOver) -> pl.Series:
    return _series(asked.places.first - asked.places.start + 1)


def _dense_rank(asked: _CallOver) -> pl.Series:
    places = asked.places
    return _series(places.group - places.group[places.start] + 1)


def _percent_rank(asked: _CallOver) -> pl.Series:
    places = asked.places
    others = places.stop - places.start - 1
    return _series((places.first - places.start) / np.maximum(others, 1))


def _cume_dist(asked: _CallOver) -> pl.Series:
    places = asked.places
    return _series((places.after - places.start) / (places.stop - places.start))


def _ntile(asked: _CallOver) -> pl.Series:
    """So many buckets whose sizes differ by one at most, larger ones first."""
    places, buckets = asked.places, asked.call.number
    at = np.arange(asked.rows.height) - places.start
    size, larger = np.divmod(places.stop - places.start, buckets)
    in_larger = larger * (size + 1)
    behind = larger + (at - in_larger) // np.maximum(size, 1)
    return _series(np.where(at < in_larger, at // (size + 1), behind) + 1)


def _lead(asked: _CallOver) -> pl.Series:
    known = asked.known
    at = np.searchsorted(known, np.arange(asked.rows.height), "right") + asked.call.number - 1
    if not asked.call.number:
        return asked.argument()
    return asked.values(known, at, at < np.searchsorted(known, asked.places.stop))


def _lag(asked: _CallOver) -> pl.Series:
    known = asked.known
    at = np.searchsorted(known, np.arange(asked.rows.height)) - asked.call.number
    if not asked.call.number:
        return asked.argument()
    return asked.values(known, at, at >= np.searchsorted(known, asked.places.start))


def _nth_value(asked: _CallOver) -> pl.Series:
    known = asked.known
    at = np.searchsorted(known, asked.first) + asked.call.number - 1
    return asked.values(known, at, at < np.searchsorted(known, asked.stop))


def _last_value(asked: _CallOver) -> pl.Series:
    known = asked.known
    at = np.searchsorted(known, asked.stop) - 1
    return asked.values(known, at, at >= np.searchsorted(known, asked.first))


_FUNCTIONS: Final[Mapping[str, Callable[[_CallOver], pl.Series]]] = {
    "row_number": _row_number,
    "rank": _rank,
    "dense_rank": _dense_rank,
    "percent_rank": _percent_rank,
    "cume_dist": _cume_dist,
    "ntile": _ntile,
    "lead": _lead,
    "lag": _lag,
    "first_value": _nth_value,
    "last_value": _last_value,
    "nth_value": _nth_value,
}
"""What each makes of rows in order."""


__all__ = ["Answered", "RowFunctions"]
