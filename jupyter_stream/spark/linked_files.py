"""Parquet files that Spark reads as they are: of them only the times are read here, to tell which of their rows are late.

A file none of whose rows is late, or has no time, is handed over as a link; of another, the rows that are left. So what reaches
Spark is what would reach it through the spool row by row, and the other columns are read once, by Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from jupyter_stream.core.messages import BROKEN, ROW, TS, ints

_AT_ONCE = 262_144


@dataclass(frozen=True, slots=True)
class _JudgedRows:
    """Rows of a file that were judged: all from `first` to before `end`, or those of `left` with their system columns."""

    first: int
    end: int
    left: pl.DataFrame | None

    def between(self, first: int, end: int) -> _JudgedRows:
        """Its rows in that range."""
        first, end = max(first, self.first), min(end, self.end)
        if self.left is None:
            return _JudgedRows(first, end, None)
        left = self.left.filter(pl.col(ROW).is_between(first, end, closed="left"))
        late = BROKEN in left.columns and left.get_column(BROKEN).count() > 0
        return _JudgedRows(first, end, left if late or left.height < end - first else None)


class LinkedFiles:
    """The files of one stream, in the order they are read.

    Args:
        files: each with its number of rows.
        columns: the columns Spark needs.
    """

    def __init__(self, files: Sequence[tuple[Path, int]], columns: Sequence[str]) -> None:
        self._files = [(path, rows) for path, rows in files if rows]
        self._columns = list(columns)
        self._ends = (1 + np.cumsum([rows for _, rows in self._files])).tolist()  # rows are counted from 1
        self._file = 0
        self._next = 1
        self._parts: list[_JudgedRows] = []

    def judged(self, last: int, left: pl.DataFrame) -> Iterator[WholeFile]:
        """Rows up to number `last` have been judged, of which these are left; gives the files that are done.

        Args:
            last: the number of the last row judged.
            left: with `$row` and `$ts`, and `$broken` where some are late.
        """
        system = left.select(c for c in (ROW, TS, BROKEN) if c in left.columns)
        yield from self._take(_JudgedRows(self._next, last + 1, system).between(self._next, last + 1))

    def rest(self) -> Iterator[WholeFile]:
        """No more rows will be judged: those without a time are left out at the end as anywhere."""
        if self._ends and self._next < self._ends[-1]:
            none = pl.DataFrame(schema={ROW: pl.Int64, TS: pl.Int64})
            yield from self._take(_JudgedRows(self._next, self._ends[-1], none))

    def _take(self, part: _JudgedRows) -> Iterator[WholeFile]:
        self._next = part.end
        while self._file < len(self._files):
            end = self._ends[self._file]
            path, rows = self._files[self._file]
            if part.first < part.end:
                self._parts.append(part.between(part.first, end))
            if part.end < end:
                return
            yield WholeFile(path, end - rows, tuple(self._parts), self._columns)
            self._parts = []
            self._file += 1
            part = part.between(end, part.end)


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A file all rows of which have been judged.

    Attributes:
        path: where it is.
        first: the number of its first row.
        parts: its rows that are left.
        columns: those to read.
    """

    path: Path
    first: int
    parts: tuple[_JudgedRows, ...]
    columns: list[str]

    @property
    def as_it_is(self) -> bool:
        """Whether all of its rows are left, none of them late."""
        return all(p.left is None for p in self.parts)

    @property
    def rows(self) -> int:
        """How many rows are left."""
        return sum(p.end - p.first if p.left is None else p.left.height for p in self.parts)

    def frames(self, time: str) -> Iterator[pl.DataFrame]:
        """The rows that are left, with `$row`, `$ts` and, where some are late, `$broken`.

        Args:
            time: the column that is the time.
        """
        scan = pl.scan_parquet(self.path, glob=False).select(self.columns)
        for part in self.parts:
            for begin in range(part.first, part.end, _AT_ONCE):
                end = min(begin + _AT_ONCE, part.end)
                frame = scan.slice(begin - self.first, end - begin).collect()
                if part.left is None:
                    numbers = pl.int_range(begin, end, dtype=pl.Int64, eager=True)
                    yield frame.with_columns(numbers.alias(ROW), pl.col(time).cast(pl.Int64).alias(TS))
                    continue
                left = part.between(begin, end).left
                assert left is not None
                if left.height:
                    yield frame[ints(left.get_column(ROW)) - begin].hstack(left)
