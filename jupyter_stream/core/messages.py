"""What flows between operators: batches of rows, punctuations, ticks. Rows never travel alone.

A batch is a Polars frame (Arrow memory). Besides a stream's own columns it may carry *system columns*, whose names start
with `$` so that no user's column can meet them; filters and slices keep them in step for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Int64s: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

TS: Final = "$ts"
"""Int64: the progressing attribute in microseconds. Every batch of a stream has it."""
UNTIL: Final = "$until"
"""Int64: end of the row's lifetime (exclusive), on plans over lifetimes."""
SIGN: Final = "$sign"
"""Int8: +1 the row enters, -1 it leaves, on plans with unpredictable ends."""
ROW: Final = "$row"
"""Int64: the arrival number (`row_num`), from 1, where the plan needs it."""
BROKEN: Final = "$broken"
"""Int64 or null: the punctuation a late row broke. Only in batches that hold late rows."""
BROKEN_BY_ALL: Final = "$broken_by_all"
"""Int64: the promise for all keys that held when a late row came, where the one it broke may be for its key only."""
LATE_ID: Final = "$late"
"""Int64 or null: a late row's arrival number, so that its full record can be found. Goes with `$broken`."""
FAULT: Final = "$fault"
"""Of rows with a part that could not be read and is NULL: the raw record, which parts, and why (`FAULTS`)."""
FAULTS: Final = pl.Struct({"raw": pl.String(), "at": pl.List(pl.List(pl.String())), "why": pl.List(pl.String())})
"""`at` has the column and the fields that lead to the part."""
WINDOW_START: Final = "$window_start"
WINDOW_END: Final = "$window_end"
WINDOW_ID: Final = "$window_id"
WINDOW_PART: Final = "$window_part"
"""Int64: which partition an extent of row numbers is of, 0 without. Such extents may have the same bounds and be others."""
COVERAGE: Final = "$coverage"
"""Float64: the share of an answer's rows that it was made of, on queries with a budget."""
ANSWER: Final = "$answer"
"""Int64: the number of a provisional answer, by which its revision replaces it (EMIT CHANGES)."""
IS_FINAL: Final = "is_final"
"""Boolean, a user's column: false while an answer is provisional (EMIT EVERY, EMIT CHANGES)."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of one schema.

    Attributes:
        frame: the rows, system columns among them.
        provisional: None for rows of a stream or final answers. Otherwise the stream time this whole snapshot of open
            windows was taken at; it replaces the snapshot before it.
        replaces: numbers (`$answer`) of the provisional answers these replace, where they don't replace the whole snapshot
            before them. Without any number, in a provisional batch of an aggregate: these are some of the open answers.
        times: the earliest and the latest `$ts`, where whoever made it has looked.
    """

    frame: pl.DataFrame
    provisional: int | None = None
    replaces: Int64s | None = None
    times: tuple[int, int] | None = None

    @property
    def rows(self) -> int:
        """How many rows."""
        return self.frame.height

    def with_frame(self, frame: pl.DataFrame) -> Batch:
        """The same kind of batch with other rows."""
        return Batch(frame, self.provisional, self.replaces)

    @property
    def span(self) -> tuple[int, int]:
        """The earliest and the latest `$ts`. There must be a row."""
        if self.times is not None:
            return self.times
        stamps = self.ints(TS)
        return int(stamps.min()), int(stamps.max())

    @property
    def tells(self) -> bool:
        """Whether it says something even without rows: that former provisional answers are no more."""
        return self.provisional is not None or self.replaces is not None

    def ints(self, column: str) -> Int64s:
        """A view of an integer or time column without nulls, as int64."""
        return ints(self.frame.get_column(column))


@dataclass(frozen=True, slots=True)
class Punctuation:
    """Every row still to come has `attribute >= value`.

    Attributes:
        value: microseconds (or the attribute's integer); `MAX_TIME` when the input has ended.
        attribute: the progressing attribute, `$ts` unless said.
    """

    value: int
    attribute: str = TS


@dataclass(frozen=True, slots=True)
class KeyPunctuation:
    """Group-wise punctuations (window-queries thesis §2.3): each says of one key what a `Punctuation` says of all.

    Attributes:
        frame: for each of them the key's value, in the column of that name, and `$ts`: rows of the key still to come are not
            before it. No key twice.
    """

    frame: pl.DataFrame

    @property
    def column(self) -> str:
        """The column of the key."""
        return next(c for c in self.frame.columns if c != TS)


@dataclass(frozen=True, slots=True)
class PairPunctuation:
    """Individual punctuations of a join (window-queries thesis §7.2): no row to come has an earlier time of that side.

    What a join says of both together, its joint punctuation, is its `Punctuation`: see `operators.window_join`.

    Attributes:
        values: of the left side's time, and of the right side's, microseconds.
    """

    values: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Tick:
    """Give provisional answers now: the stream's own time has reached a multiple of the EMIT interval, or rows have come.

    Attributes:
        at: the time of the row that reached it, or of the newest row, microseconds.
    """

    at: int


@dataclass(frozen=True, slots=True)
class Missed:
    """Late rows that missed at least one answer already final.

    Attributes:
        late_ids: which rows (`$late` of their batch).
        missed: how many extents each missed, or None for relations, joins and OVER.
        stream: whose rows they are, where they came earlier than the batch under way; `late_ids` are their arrival numbers then.
        broken: what each of them broke, microseconds; None, or MIN_TIME, where their batch says it.
    """

    late_ids: Int64s
    missed: Int64s | None
    stream: str | None = None
    broken: Int64s | None = None

    def those(self, which: NDArray[np.bool_]) -> Missed:
        """Some of them."""
        missed = None if self.missed is None else self.missed[which]
        return Missed(self.late_ids[which], missed, self.stream, None if self.broken is None else self.broken[which])


@dataclass(frozen=True, slots=True)
class Failed:
    """Rows on which an expression failed (overflow, bad cast, division by zero).

    Attributes:
        frame: the rows as the operator saw them.
        reasons: why, one for each row.
    """

    frame: pl.DataFrame
    reasons: pl.Series

    @classmethod
    def all(cls, frame: pl.DataFrame, reason: str) -> Failed:
        """Rows that failed for the same reason."""
        return cls(frame, pl.Series([reason], dtype=pl.String()).new_from_index(0, frame.height))


@dataclass(frozen=True, slots=True)
class Rest:
    """The operator has more to say, but not at once: it may be given other input first. Goes no further than the engine."""


Message: TypeAlias = Batch | Punctuation | KeyPunctuation | PairPunctuation | Tick | Missed | Failed | Rest


def ints(series: pl.Series) -> Int64s:
    """A series of integers or times as int64, without a copy where it already is that."""
    if series.dtype.is_temporal():
        series = series.cast(pl.Int64)  # of times the same number; to_physical goes through a planner, 60 µs a call
    return series.to_numpy().astype(np.int64, copy=False)
