"""A derived stream put in order: its rows, in the order of their times, as punctuation allows (ESL paper §2).

Rows wait until no earlier one can come. Those that come later all the same are left out, and told of.

Rows of the same time wait too: a promise of time t lets the rows before t go, and those of t itself may still get company. The
papers' operators take simultaneous tuples at once, since their order is left open. Here it is not: rows of equal time go by their
numbers in the source, then by their values, whatever batches and inputs of a union they come in, and an aggregate with OVER gives
peers one value. A row that went at once might be followed by one whose place was before it.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from jupyter_stream.arrays.rows import bytes_of, earliest, in_few_pieces, shown
from jupyter_stream.core.axis import plus
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import (
    BROKEN,
    BROKEN_BY_ALL,
    LATE_ID,
    ROW,
    TS,
    Batch,
    KeyPunctuation,
    Message,
    Punctuation,
    Tick,
)
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.flow.late_rows import in_time
from jupyter_stream.flow.protocol import Recall


class InOrder:
    """Gives rows in the order of their times, rows of equal time by their numbers in the source."""

    def __init__(self) -> None:
        self.control = ControlTable("in the order of time")
        self.synopses: list[ControlTable] = []
        self._waiting: list[pl.DataFrame] = []
        self._reached = MIN_TIME

    def head(self, most: int) -> pl.DataFrame:
        """The first rows that wait."""
        return shown(self._waiting, most)

    @property
    def waits_for(self) -> int:
        """The time after its first row's."""
        return plus(earliest(self._waiting), 1)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep rows until their time is over; late ones are told of."""
        frame, missed = in_time(batch.frame, self._reached, self.control)
        if missed is not None:
            yield missed
        if frame.height:
            self._waiting.append(frame.drop(BROKEN, BROKEN_BY_ALL, LATE_ID, strict=False))
            self._report()

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give the rows whose time is over, in order."""
        if punctuation.value <= self._reached:
            return
        self._reached = self.control.low_watermark = punctuation.value
        if self._waiting:
            rows = in_few_pieces(pl.concat(self._waiting, how="diagonal"))
            due, rest = rows.filter(pl.col(TS) < punctuation.value), rows.filter(pl.col(TS) >= punctuation.value)
            self._waiting = [rest] if rest.height else []
            self._report()
            if due.height:
                ties = [c for c, t in due.schema.items() if c[0] != "$" and not t.is_nested()]
                numbers = [ROW] if ROW in due.columns else []
                yield Batch(due.sort(TS, *numbers, *ties, maintain_order=True))
        yield punctuation

    def _report(self) -> None:
        self.control.holds(bytes_of(self._waiting))

    def on_key_punctuation(self, port: int, punctuation: KeyPunctuation) -> Iterator[Message]:
        """Rows of the key may wait here: what is promised for it alone is not passed on."""
        return iter(())

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Pass it on."""
        yield tick

    def recalls(self) -> Recall | None:
        """All rows it has ever had have been given in order."""
        return None


__all__ = ["InOrder"]
