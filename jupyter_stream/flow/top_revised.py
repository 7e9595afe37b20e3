"""ORDER BY ... LIMIT n, DISTINCT and row numbers of each extent under EMIT CHANGES: revisions in, revisions out.

An answer that changes may push others in or out, so that what is revised here is a row's being among the first, under numbers of
its own. Keeps the open answers and those that are final in extents that are not over.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from jupyter_stream.arrays.rows import bytes_of, shown
from jupyter_stream.core.messages import ANSWER, TS, Batch, Int64s, Message, Punctuation, ints
from jupyter_stream.flow.protocol import Stateless
from jupyter_stream.flow.revise import Numbers
from jupyter_stream.flow.top import TopOfExtents, named
from jupyter_stream.plan.logical import Top

_COPY = "$copy"


class TopRevised(Stateless):
    """The first rows of each extent as they are so far, then as they are for good.

    Args:
        plan: which rows.
        numbers: where numbers of answers come from.
    """

    def __init__(self, plan: Top, numbers: Numbers) -> None:
        super().__init__(named(plan))
        self._top = TopOfExtents(plan)
        self._offset = plan.offset
        self._numbers = numbers
        self._open: pl.DataFrame | None = None
        self._final: pl.DataFrame | None = None
        self._shown: pl.DataFrame | None = None
        self._at = 0

    def head(self, most: int) -> pl.DataFrame:
        """The first rows of open extents."""
        return shown([] if self._open is None else [self._open], most)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Take revisions; give what they change among the first."""
        if batch.replaces is not None and batch.replaces.size and self._open is not None:
            self._open = self._open.join(pl.DataFrame({ANSWER: batch.replaces}), on=ANSWER, how="anti")
        if batch.provisional is None:
            final = batch.frame.drop(ANSWER, strict=False)
            both = final if self._final is None else pl.concat([self._final, final])
            self._final = self._top.first(both, 0)
        else:
            self._at = batch.provisional
            self._open = batch.frame if self._open is None else pl.concat([self._open, batch.frame])
            new, gone = self._revised()
            if new.height or gone.size:
                yield Batch(new, self._at, gone)
        self._report()

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give the extents that are over for good."""
        over: pl.DataFrame | None = None
        if self._final is not None:
            past = self._final.get_column(TS) < punctuation.value
            over = self._top.first(self._final.filter(past), self._offset, given=True)
            self._final = self._final.filter(~past)
        if self._open is not None:
            new, gone = self._revised()
            if over is not None and (over.height or gone.size):
                yield Batch(over, None, gone)
            elif gone.size:
                yield Batch(new.clear(), self._at, gone)
            if new.height:
                yield Batch(new, self._at, gone[:0])
        elif over is not None and over.height:
            yield Batch(over)
        self._report()
        yield from super().on_punctuation(port, punctuation)

    def _revised(self) -> tuple[pl.DataFrame, Int64s]:
        """Rows that are among the first now and were not shown, and the numbers of those shown that are not any more."""
        assert self._open is not None
        rows = self._open.drop(ANSWER)
        if self._final is not None and self._final.height:
            rows = pl.concat([rows, self._final])
        now = _numbered_copies(self._top.first(rows, self._offset, given=True))
        if self._shown is None:
            self._shown = now.clear().with_columns(pl.lit(None, pl.Int64).alias(ANSWER))
        by = now.columns
        gone = ints(self._shown.join(now, on=by, how="anti", nulls_equal=True).get_column(ANSWER))
        stay = self._shown.join(now, on=by, how="semi", nulls_equal=True)
        new = now.join(self._shown, on=by, how="anti", nulls_equal=True)
        new = new.with_columns(pl.Series(ANSWER, self._numbers.take(new.height)))
        self._shown = pl.concat([stay, new])
        return new.drop(_COPY), gone

    def _report(self) -> None:
        held = (self._open, self._final, self._shown)
        self.control.holds(bytes_of(f for f in held if f is not None))


def _numbered_copies(rows: pl.DataFrame) -> pl.DataFrame:
    """Equal rows numbered, so that each is shown as often as it is there."""
    return rows.with_columns(pl.int_range(pl.len()).over(rows.columns).alias(_COPY))


__all__ = ["TopRevised"]
