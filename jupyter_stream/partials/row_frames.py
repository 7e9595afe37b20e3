"""Where the frame of each row begins and ends, of rows in order: by rows, by groups of peers, by values. Knows no function."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.arrays.runs import begins_run
from jupyter_stream.core.messages import Array, Bools, Int64s
from jupyter_stream.windows import Frame


@dataclass(frozen=True)
class PeerPlaces:
    """Rows in the order of (partition, keys): where each one's partition and its peers are.

    Attributes:
        start: the first row of its partition.
        stop: one past the last row of its partition.
        first: its first peer.
        after: one past its last peer.
        group: the number of its peers' group, among all.
    """

    start: Int64s
    stop: Int64s
    first: Int64s
    after: Int64s
    group: Int64s

    @classmethod
    def of(cls, partitions: Int64s, keys: list[pl.Series]) -> PeerPlaces:
        """Those of rows in order.

        Args:
            partitions: the number of each row's partition, rising.
            keys: the order's keys, in order within partitions.
        """
        new = begins_run(partitions)
        start, stop, _ = _segments(new)
        for key in keys:
            new[1:] |= key[1:].ne_missing(key[:-1]).to_numpy()
        first, after, group = _segments(new)
        return cls(start, stop, first, after, group)


def _segments(heads: Bools) -> tuple[Int64s, Int64s, Int64s]:
    """Of each row where its segment begins, where it ends, and its number."""
    begins = np.flatnonzero(heads)
    sizes = np.diff(np.append(begins, heads.size))
    return (
        np.repeat(begins, sizes),
        np.repeat(begins + sizes, sizes),
        np.repeat(np.arange(begins.size), sizes),
    )


def bounds(frame: Frame, places: PeerPlaces, keys: list[pl.Series], descending: bool) -> tuple[Int64s, Int64s]:
    """Of each row the first of its frame and one past the last; equal ones where it is empty.

    Args:
        frame: which.
        places: of the rows.
        keys: the order's keys; just one, a number or a time, where a RANGE has distances.
        descending: whether that one falls.
    """
    at = np.arange(places.start.size)
    if frame.unit == "range" and any(end not in (None, 0) for end in (frame.low, frame.high)):
        low, high = _by_values(frame, places, keys[0], descending)
    elif frame.unit == "rows":
        low = places.start if frame.low is None else at + int(frame.low)
        high = places.stop if frame.high is None else at + int(frame.high) + 1
    else:
        low, high = _by_groups(frame, places)
    low = np.clip(low, places.start, places.stop)
    return low, np.maximum(low, np.clip(high, places.start, places.stop))


def _by_groups(frame: Frame, places: PeerPlaces) -> tuple[Int64s, Int64s]:
    """Of groups of peers; RANGE up to the current row counts one of them."""
    heads = np.flatnonzero(places.first == np.arange(places.first.size))
    ends = np.append(heads, places.first.size)

    def head(number: Int64s) -> Int64s:
        return ends[np.clip(number, 0, heads.size)]

    low = places.start if frame.low is None else head(places.group + int(frame.low))
    high = places.stop if frame.high is None else head(places.group + int(frame.high) + 1)
    return low, high


def _by_values(frame: Frame, places: PeerPlaces, key: pl.Series, descending: bool) -> tuple[Int64s, Int64s]:
    """Rows whose key is so much less or more; of a row without a key its peers."""
    known = np.flatnonzero(key.is_not_null().to_numpy())
    values, scale = _numbers(key.gather(pl.Series(known)), descending)
    starts = places.start[known]
    begins = np.searchsorted(known, places.start[known])  # the first with a key in its partition, among those with one
    ends = np.searchsorted(known, places.stop[known])
    low, high = places.first.copy(), places.after.copy()
    if frame.low is None:
        low = places.start.copy()
    else:
        found = np.clip(_before(starts, values, _moved(values, frame.low, scale), first=True), begins, ends)
        low[known] = np.append(known, -1)[np.minimum(found, known.size)]
        none = found >= ends
        low[known[none]] = known[ends[none] - 1] + 1
    if frame.high is None:
        high = places.stop.copy()
    else:
        found = np.clip(_before(starts, values, _moved(values, frame.high, scale), first=False), begins, ends)
        high[known] = known[np.maximum(found, 1) - 1] + 1
        none = found <= begins
        high[known[none]] = known[begins[none]]
    return low, high


def _numbers(key: pl.Series, descending: bool) -> tuple[Array, float]:
    """Keys as rising numbers, and how much a distance of 1 is."""
    scale = 1.0
    if isinstance(key.dtype, pl.Date):
        key, scale = key.cast(pl.Int32).cast(pl.Int64) * 86_400_000_000, 1.0
    elif key.dtype.is_temporal():
        key = key.cast(pl.Int64)
    elif isinstance(key.dtype, pl.Decimal):
        scale = 10.0**key.dtype.scale
        key = (key.cast(pl.Float64) * scale).round(0)
    values: Array = key.cast(pl.Int64 if key.dtype.is_integer() else pl.Float64).to_numpy()
    return (-values if descending else values), scale


def _moved(values: Array, distance: float, scale: float) -> Array:
    """Keys so far away; whole ones stay whole, and stop at the ends of BIGINT."""
    by = distance * scale
    if values.dtype != np.int64 or by != int(by):
        return values.astype(np.float64) + by
    whole = int(by)
    moved: Array = values + np.int64(whole)
    if whole > 0:
        return np.where(moved < values, np.iinfo(np.int64).max, moved)
    return np.where(moved > values, np.iinfo(np.int64).min, moved)


def _before(starts: Int64s, values: Array, wanted: Array, first: bool) -> Int64s:
    """How many rows come before a wanted value, in all partitions up to its own: without those equal to it, or with them."""
    size = values.size
    own = np.append(np.zeros(size, np.int64), np.ones(size, np.int64))
    if first:  # what is wanted comes before its equals
        own = 1 - own
    order = np.lexsort((own, np.append(values, wanted), np.append(starts, starts)))
    is_value = order < size
    counted = np.cumsum(is_value)
    found = np.empty(size, np.int64)
    found[order[~is_value] - size] = counted[~is_value]
    return found


__all__ = ["PeerPlaces", "bounds"]
