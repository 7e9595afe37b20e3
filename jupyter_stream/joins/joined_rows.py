"""What rows of two streams that may belong together make: which of them meet, and the joined rows.

Nothing here is kept: two threads may ask at once. Which rows may belong together is found out in `state.meeting`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import columns_of, frame_of, rows_where
from jupyter_stream.core.axis import between, plus
from jupyter_stream.core.messages import ROW, TS, UNTIL, Bools, Failed, Int64s, ints
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.functions.expression import columns as columns_in
from jupyter_stream.joins.runs import Run
from jupyter_stream.joins.window_join_config import WindowJoinConfig


@dataclass(frozen=True)
class NewRows:
    """Rows of a batch: their input, and themselves. Each says whether it has found a partner."""

    port: int
    run: Run
    matched: Bools


@dataclass(frozen=True)
class JoinedPairs:
    """Pairs: numbers of new rows and of a run's, and the joined rows where somebody wants them."""

    mine: Int64s
    theirs: Int64s
    joined: pl.DataFrame | None
    failed: Failed | None = None
    """Pairs on which the further condition fails."""
    candidates: tuple[Int64s, Int64s] | None = None
    """Those that meet but for that condition, where it makes a difference."""


class JoinedRows:
    """Makes joined rows; `$ts` is the later of their times, `$until` the earlier end of their lifetimes."""

    def __init__(self, config: WindowJoinConfig) -> None:
        self._config = config
        self._residual = None if config.residual is None else Evaluator([config.residual])
        # what is to be seen to: rows of one extent are as near to each other as the window says
        apart = MAX_TIME if config.extents is None else config.extents.slide - 1
        self._least = None if config.low is None or config.low <= -apart else config.low
        self._most = None if config.high is None or config.high >= apart else config.high
        read = _needed(config)
        self._fields = (
            [f for f in config.left if f.name in read],
            [f for f, n in zip(config.right, config.right_names, strict=True) if n in read],
        )
        self._names = tuple(tuple(f.name for f in fields) for fields in self._fields)
        right = dict(zip(config.right.names, config.right_names, strict=True))
        self._right_names = {n: right[n] for n in self._names[1]}

    @property
    def bounds(self) -> tuple[int | None, int | None]:
        """Least and greatest right time minus left time that are to be looked at, None where all candidates have them."""
        return self._least, self._most

    @property
    def timed(self) -> bool:
        """Whether times are to be looked at."""
        return self._least is not None or self._most is not None

    def kept_columns(self, port: int, frame: pl.DataFrame, numbered: bool) -> pl.DataFrame:
        """The columns a joined row needs, `$ts`, an end of its own that the row has, its number where that is asked for."""
        absent = [f for f in self._fields[port] if f.name not in frame.columns]  # nobody reads them
        if absent:
            frame = frame.with_columns(pl.lit(None, f.dtype).alias(f.name) for f in absent)
        system = [c for c in (UNTIL, ROW if numbered else UNTIL) if c in frame.columns]
        return columns_of(frame, [*self._names[port], TS, *dict.fromkeys(system)])

    def pairs(self, new: NewRows, run: Run, mine: Int64s, theirs: Int64s, settled: frozenset[int]) -> JoinedPairs:
        """Those of the candidates that meet, so far as keys and times say; joined where that is all there is to say."""
        meets = new.run.keys.same(mine, run.keys, theirs, settled)
        one, two = new.run.times.take(mine), run.times.take(theirs)
        lefts, rights = (one, two) if new.port == 0 else (two, one)
        if self.timed:
            span = max(new.run.high, run.high) - min(new.run.low, run.low)
            difference = between(rights, lefts) if span > MAX_TIME else rights - lefts
            if self._least is not None:
                meets = _both(meets, difference >= self._least)
            if self._most is not None:
                meets = _both(meets, difference <= self._most)
        ends = [_own_ends(new.run, mine), _own_ends(run, theirs)]
        left_ends, right_ends = ends if new.port == 0 else ends[::-1]
        # what was joined before lives as long as all its parts
        if left_ends is not None:
            meets = _both(meets, rights < left_ends)
        if right_ends is not None:
            meets = _both(meets, lefts < right_ends)
        later = np.maximum(lefts, rights)
        until = None
        if self._config.ends:
            left_ends, right_ends = (
                plus(times, length) if own is None and length is not None else own
                for own, times, length in zip(
                    (left_ends, right_ends), (lefts, rights), self._config.lifetimes, strict=True
                )
            )
            until = _earlier(left_ends, right_ends, later.size)
        if meets is not None and not meets.all():
            those = np.flatnonzero(meets)  # by number: half of what it takes by a mask
            mine, theirs, later = mine.take(those), theirs.take(those), later.take(those)
            until = None if until is None else until.take(those)
        joined = None
        if mine.size and (self._residual is not None or self._config.kind not in ("semi", "anti")):
            joined = self._row_by_row(new, run, mine, theirs, later, until)
        if joined is None or self._residual is None:
            return JoinedPairs(mine, theirs, joined)
        numbered = joined.hstack([pl.Series("$new", mine), pl.Series("$old", theirs)])
        left, (true,), failed = self._residual.evaluate(numbered)
        left = rows_where(left, true.fill_null(False).to_numpy())
        if failed is not None:
            failed = Failed(failed.frame.drop("$new", "$old"), failed.reasons)
        met = ints(left.get_column("$new")), ints(left.get_column("$old"))
        return JoinedPairs(*met, columns_of(left, joined.columns), failed, (mine, theirs))

    def _row_by_row(
        self, new: NewRows, run: Run, mine: Int64s, theirs: Int64s, later: Int64s, until: Int64s | None
    ) -> pl.DataFrame:
        rows = (new.run.frame, run.frame) if new.port == 0 else (run.frame, new.run.frame)
        at = [pl.Series(i.astype(np.uint32)) for i in ((mine, theirs) if new.port == 0 else (theirs, mine))]
        # by index, since `gather` goes through a planner
        columns = [rows[0].get_column(n)[at[0]] for n in self._names[0]]
        columns += [rows[1].get_column(n)[at[1]].alias(name) for n, name in self._right_names.items()]
        return frame_of([*columns, pl.Series(TS, later), *([] if until is None else [pl.Series(UNTIL, until)])])

    def with_end(self, port: int, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows without a partner, and when they leave, where somebody asks."""
        if not self._config.ends:
            return rows.drop(UNTIL, strict=False)
        if UNTIL in rows.columns:
            return rows
        length = self._config.lifetimes[port]
        times = ints(rows.get_column(TS))
        until = np.full(times.size, MAX_TIME) if length is None else plus(times, length)
        return rows.with_columns(pl.Series(UNTIL, until))

    def padded(self, port: int, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows without a partner as joined ones, NULL in place of it."""
        others = [
            pl.Series(f.name, [None], dtype=f.dtype).new_from_index(0, rows.height) for f in self._fields[1 - port]
        ]
        lefts, rights = ([rows.get_column(n) for n in self._names[port]], others)[:: 1 if port == 0 else -1]
        rights = [c.alias(self._right_names[c.name]) for c in rights]
        return pl.DataFrame([*lefts, *rights, *(rows.get_column(n) for n in (TS, UNTIL) if n in rows.columns)])


def _own_ends(run: Run, rows: Int64s) -> Int64s | None:
    """Ends of lifetimes that rows bring with them; None where their window says it."""
    return ints(run.frame.get_column(UNTIL)).take(rows) if UNTIL in run.frame.columns else None


def _needed(config: WindowJoinConfig) -> frozenset[str]:
    """The columns of a joined row that are to be made."""
    if config.wanted is None:
        return frozenset((*config.left.names, *config.right_names))
    return config.wanted if config.residual is None else config.wanted | columns_in(config.residual)


def _both(one: Bools | None, other: Bools) -> Bools:
    """What is true of both; None is true of all."""
    return other if one is None else one & other


def _earlier(one: Int64s | None, other: Int64s | None, rows: int) -> Int64s:
    if one is None:
        return np.full(rows, MAX_TIME) if other is None else other
    return one if other is None else np.minimum(one, other)


__all__ = ["JoinedPairs", "JoinedRows", "NewRows"]
