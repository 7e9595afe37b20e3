"""Columns and rows of a frame at once, past Polars' planner.

Its own `select`, `filter` and `with_columns` take 40 to 110 µs a call: nothing for a large batch and most of the time for a
small one, so operators that run at every punctuation use these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.core.messages import TS, Int64s, ints
from jupyter_stream.core.time import MAX_TIME

_PLAIN: Final = (pl.Int64, pl.Int32, pl.UInt32, pl.UInt64, pl.Float64)
_FEW, _MANY = 8_192, 1 << 16
"""Rows up to which column by column takes less than all at once: of those taken by their places, and of those looked at."""


def frame_of(columns: Sequence[pl.Series]) -> pl.DataFrame:
    """Columns of different names side by side: 5 µs, where a frame made of a list takes 10 to 14."""
    return columns[0].to_frame().hstack(list(columns[1:])) if columns else pl.DataFrame()


def gathered(column: pl.Series, at: Int64s) -> pl.Series:
    """Rows of a column by their places; of plain numbers in a quarter of the time that Polars takes."""
    if column.dtype in _PLAIN and not column.null_count():
        return pl.Series(column.name, column.to_numpy()[at])
    return column.gather(pl.Series(at))


def columns_of(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Some columns, in that order."""
    return frame_of([frame.get_column(n) for n in names])


def few(frame: pl.DataFrame) -> bool:
    """Whether expressions over a frame had better be computed one after the other, without waiting for other threads."""
    return frame.height <= _FEW


def computed_of(frame: pl.DataFrame, expressions: Sequence[pl.Expr]) -> pl.DataFrame:
    """Expressions over a frame: one after the other for few rows, which needn't wait for threads that have more to do."""
    return frame.select_seq(expressions) if few(frame) else frame.select(expressions)


def with_column(frame: pl.DataFrame, name: str, values: NDArray[np.generic]) -> pl.DataFrame:
    """A frame with one more column."""
    return frame.hstack([pl.Series(name, values)])


def first_rows(frames: Iterable[pl.DataFrame], most: int) -> list[pl.DataFrame]:
    """The first of some frames, as many as hold so many rows, the last of them cut."""
    found: list[pl.DataFrame] = []
    for frame in frames:
        if most <= 0:
            break
        if frame.height:
            found.append(frame.head(most))
            most -= frame.height
    return found


def shown(frames: Iterable[pl.DataFrame], most: int) -> pl.DataFrame:
    """The first rows of frames for people to look at: their columns, without those of ours."""
    found = [f.select(pl.exclude("^\\$.*$")) for f in first_rows(frames, most)]
    return pl.concat(found, how="diagonal_relaxed") if found else pl.DataFrame()


def rows_at(frame: pl.DataFrame, places: Int64s) -> pl.DataFrame:
    """The rows at those places."""
    if places.size > _FEW:
        return frame[_index(places)]  # in parallel
    return frame_of(columns_at(frame, places))


def columns_at(frame: pl.DataFrame, places: Int64s) -> list[pl.Series]:
    """All columns, at those places."""
    at = _index(places)
    return [column[at] for column in frame.get_columns()]


def values_at(column: pl.Series, places: Int64s) -> pl.Series:
    """The values at those places: 22 µs and what they take, where `gather` takes 120."""
    return column[_index(places)]


def _index(places: Int64s) -> pl.Series:
    return pl.Series(places.astype(np.uint32))  # what Polars counts rows with: anything else is checked and made that


def rows_where(frame: pl.DataFrame, mask: NDArray[np.bool_]) -> pl.DataFrame:
    """The rows for which the mask is true."""
    return frame if mask.all() else rows_if(frame, pl.Series(mask))


def rows_if(frame: pl.DataFrame, mask: pl.Series) -> pl.DataFrame:
    """The rows for which the mask is true; not where it is false or NULL."""
    if frame.height > _MANY:
        return frame.filter(mask)  # in parallel
    return frame_of([column.filter(mask) for column in frame.get_columns()])


def earliest(frames: Iterable[pl.DataFrame]) -> int:
    """The earliest `$ts` of all rows; `MAX_TIME` without any."""
    times = (ints(f.get_column(TS)) for f in frames if f.height)
    return min((int(t.min()) for t in times), default=MAX_TIME)


def bytes_of(frames: Iterable[pl.DataFrame]) -> int:
    """Bytes that frames hold together."""
    return sum(int(f.estimated_size()) for f in frames)


class Bag:
    """Rows in no order, to be compared."""

    __hash__ = None  # type: ignore[assignment]  # it is compared, never looked up

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bag) or other._frame.height != self._frame.height:
            return False
        one, two = (f.sort(pl.all(), nulls_last=True) for f in (self._frame, other._frame))
        return one.equals(two)


def together(frames: Sequence[pl.DataFrame], most: int = 4) -> pl.DataFrame:
    """At least one frame of the same columns, one after the other; copied where they would be in more pieces than `most`.

    For whatever is kept, and put together with what comes, again and again: a filter leaves a piece for each that a frame
    had, empty ones among them, so that with `pl.concat` a few rows would be in more and more pieces.
    """
    found = frames[0]
    for frame in frames[1:]:
        found = found.vstack(frame)
    return in_few_pieces(found, most)


def in_few_pieces(frame: pl.DataFrame, most: int = 4) -> pl.DataFrame:
    """A frame, copied where it is in more pieces than `most`."""
    return frame if max(frame.n_chunks("all"), default=0) <= most else in_one_piece(frame)


def in_one_piece(frame: pl.DataFrame) -> pl.DataFrame:
    """The same in memory of its own, one stretch for each column."""
    if frame.height > _MANY:
        return frame.rechunk()  # in parallel: for less, waking the other threads takes longer than copying
    return frame_of([column.rechunk() for column in frame.get_columns()])
