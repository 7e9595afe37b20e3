"""EMIT CHANGES: turns snapshots of open answers into revisions: only what has changed, each replacing what it was before.

Stands above the outermost aggregate and remembers what it has shown. An answer is known by its group and its extent; here it gets
a number (`$answer`), so that projections above may leave its columns out. Not for how answers are made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import shown
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import (
    ANSWER,
    TS,
    WINDOW_END,
    WINDOW_ID,
    WINDOW_START,
    Batch,
    Int64s,
    Message,
    Punctuation,
    Tick,
    ints,
)

_EXTENT = (WINDOW_START, WINDOW_END, WINDOW_ID)


class Numbers:
    """Numbers for answers, unique in a query."""

    def __init__(self) -> None:
        self._next = 0

    def take(self, count: int) -> Int64s:
        """So many new ones."""
        first, self._next = self._next, self._next + count
        return np.arange(first, self._next)


class Revise:
    """Provisional answers that are new or changed, and which ones those replace.

    A snapshot that is marked to replace nothing by itself (`replaces` without any number) is of some answers only: the others
    stay as they are.

    Args:
        keys: the grouping columns of the aggregate below.
        numbers: where answers' numbers come from.
        whole: whether snapshots are passed on whole, under several of which each replaces its own (EMIT EVERY in a union).
    """

    def __init__(self, keys: Sequence[str], numbers: Numbers, whole: bool = False) -> None:
        self.control = ControlTable("snapshots" if whole else "changes of open answers")
        self.synopses = [ControlTable("answers shown")]
        self._numbers = numbers
        self._whole = whole
        self._identity = [*dict.fromkeys((*keys, *_EXTENT))]
        self._shown: pl.DataFrame | None = None

    def head(self, most: int) -> pl.DataFrame:
        """The first answers shown that are still open."""
        return shown([] if self._shown is None else [self._shown], most)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Final answers replace what was shown of them; of provisional ones, what has changed is given."""
        if batch.provisional is None:
            yield Batch(batch.frame, None, self._taken_back(batch.frame))
        else:
            revised = self._revised(batch.frame, partial=batch.replaces is not None)
            if revised is not None:
                yield Batch(revised[0], batch.provisional, revised[1])
        self._report()

    def _taken_back(self, frame: pl.DataFrame) -> Int64s:
        """Numbers of the answers shown that are answered now; they are shown no more."""
        if self._shown is None or not self._shown.height:
            return np.empty(0, np.int64)
        known = self._shown.with_row_index("$at")
        found = known.join(frame.select(self._identity), on=self._identity, how="semi", nulls_equal=True)
        if not found.height:
            return np.empty(0, np.int64)
        kept = np.ones(known.height, np.bool_)
        kept[found.get_column("$at").to_numpy()] = False
        self._shown = self._shown.filter(pl.Series(kept))
        return ints(found.get_column(ANSWER))

    def _revised(self, frame: pl.DataFrame, partial: bool) -> tuple[pl.DataFrame, Int64s] | None:
        """New and changed answers, and the numbers of those they replace or that are no more; None where nothing changed."""
        if self._shown is None:
            self._shown = frame.clear().with_columns(pl.lit(None, pl.Int64).alias(ANSWER))
        before = self._shown
        values = [c for c in frame.columns if c not in self._identity and c != TS]
        known = before.select(*self._identity, ANSWER, *(pl.col(c).alias(f"$was {c}") for c in values))
        joined = frame.join(known, on=self._identity, how="left", nulls_equal=True, maintain_order="left")
        numbers = joined.get_column(ANSWER)
        same = numbers.is_not_null()
        for column in values:
            same &= joined.get_column(column).eq_missing(joined.get_column(f"$was {column}"))
        new = numbers.is_null()
        if new.any():
            fresh = np.zeros(len(numbers), np.int64)
            fresh[new.to_numpy()] = self._numbers.take(int(new.sum()))
            numbers = pl.Series(fresh).zip_with(new, numbers)
        now = frame.with_columns(numbers.alias(ANSWER))
        if partial:
            others = before.join(now.select(ANSWER), on=ANSWER, how="anti")
            gone = before.clear().get_column(ANSWER)
            self._shown = pl.concat([others, now])
        else:
            gone = before.join(now.select(ANSWER), on=ANSWER, how="anti").get_column(ANSWER)
            self._shown = now
        if self._whole:
            return now, ints(before.get_column(ANSWER))
        revised = now.filter(~same)
        if not revised.height and not len(gone):
            return None
        return revised, ints(pl.concat([joined.filter(~same & ~new).get_column(ANSWER), gone]))

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Pass it on."""
        self.control.low_watermark = punctuation.value
        yield punctuation

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Pass it on."""
        yield tick

    def _report(self) -> None:
        held = 0 if self._shown is None else int(self._shown.estimated_size())
        self.synopses[0].holds(held)
        self.control.holds(held)


__all__ = ["Numbers", "Revise"]
