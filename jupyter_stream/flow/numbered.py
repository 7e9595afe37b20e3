"""Numbers the rows of a derived stream: in the order of their times, ties by the source's row number.

Rows wait until no earlier one can come. A late row is numbered when it comes: behind the rows whose time was over then, and
before all others, however rows are batched.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from jupyter_stream.arrays.rows import bytes_of, in_few_pieces, shown
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import BROKEN, ROW, TS, Batch, KeyPunctuation, Message, Punctuation, Tick
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.flow.protocol import Recall

_AT, _IN_TIME = "$at", "$in time"


class Numbered:
    """Gives rows in that order, with their numbers from 1."""

    def __init__(self) -> None:
        self.control = ControlTable("numbered in the order of time")
        self.synopses: list[ControlTable] = []
        self._waiting: list[pl.DataFrame] = []
        self._count = 0
        self._reached = MIN_TIME

    def head(self, most: int) -> pl.DataFrame:
        """The first rows that wait."""
        return shown(self._waiting, most)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep rows until their time is over."""
        if batch.rows:
            self._waiting.append(batch.frame)
            self.control.holds(bytes_of(self._waiting))
        return iter(())

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give the rows whose time is over."""
        if punctuation.value <= self._reached:
            return
        self._reached = self.control.low_watermark = punctuation.value
        if self._waiting:
            rows = in_few_pieces(pl.concat([_placed(frame) for frame in self._waiting], how="diagonal"))
            over = (pl.col(_AT) < punctuation.value) | ((pl.col(_AT) == punctuation.value) & ~pl.col(_IN_TIME))
            due, rest = rows.filter(over), rows.filter(~over)
            self._waiting = [rest.drop(_AT, _IN_TIME)] if rest.height else []
            self.control.holds(bytes_of(self._waiting))
            if due.height:
                yield Batch(self._numbered(due))
        yield punctuation

    def _numbered(self, due: pl.DataFrame) -> pl.DataFrame:
        ties = [ROW] if ROW in due.columns else [c for c, t in due.schema.items() if c[0] != "$" and not t.is_nested()]
        due = due.sort(_AT, _IN_TIME, *ties, maintain_order=True).drop(_AT, _IN_TIME)
        first = self._count + 1
        self._count += due.height
        numbers = pl.int_range(first, first + due.height, dtype=pl.Int64, eager=True).alias(ROW)
        return due.with_columns(numbers)

    def on_key_punctuation(self, port: int, punctuation: KeyPunctuation) -> Iterator[Message]:
        """Rows of the key may wait here: what is promised for it alone is not passed on."""
        return iter(())

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Pass it on."""
        yield tick

    def recalls(self) -> Recall | None:
        """All rows it has ever had have been counted."""
        return None


def _placed(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows with when their place in the order is known: a late one's by the punctuation it broke."""
    if BROKEN not in frame.columns:
        return frame.with_columns(pl.col(TS).alias(_AT), pl.lit(True).alias(_IN_TIME))
    late = pl.col(BROKEN).is_not_null()
    return frame.with_columns(pl.when(late).then(BROKEN).otherwise(TS).alias(_AT), (~late).alias(_IN_TIME))


__all__ = ["Numbered"]
