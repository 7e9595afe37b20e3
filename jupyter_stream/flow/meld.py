"""Meld: union that passes rows through and buffers none (thesis §8.2). Its punctuation is the least of its inputs'."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import (
    BROKEN,
    BROKEN_BY_ALL,
    LATE_ID,
    TS,
    Batch,
    KeyPunctuation,
    Message,
    Punctuation,
    Tick,
)
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.flow.protocol import Recall


class Meld:
    """Bag union of its inputs.

    Args:
        inputs: the columns of each input.
        names: what they are called in the union, by position.
    """

    def __init__(self, inputs: Sequence[Sequence[str]], names: Sequence[str]) -> None:
        self.control = ControlTable(f"union of {len(inputs)}")
        self.synopses: list[ControlTable] = []
        # a source may have left columns out, so batches are renamed by name
        self._renamed = [{a: b for a, b in zip(own, names, strict=True) if a != b} for own in inputs]
        self._reached = [MIN_TIME] * len(inputs)
        self._keys: list[pl.DataFrame | None] = [None] * len(inputs)  # keys ahead of what an input promised for all
        self._said = MIN_TIME
        # The greatest promise short of the end, which is past all rows once all inputs have ended: a landmark's last extent is
        # the first beyond the last row of any input, and the least promise says nothing of an input that ended later.
        self._newest = MIN_TIME

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Pass rows on under the common names; a row is late only by what all inputs have promised."""
        frame = batch.frame
        if self._renamed[port]:
            frame = frame.rename(self._renamed[port], strict=False)
        if BROKEN in frame.columns:
            others = min((r for i, r in enumerate(self._reached) if i != port), default=None)
            if others is not None:
                if BROKEN_BY_ALL in frame.columns:
                    of_key = self._others_of_key(port, frame)
                    frame = frame.with_columns(pl.min_horizontal(BROKEN_BY_ALL, pl.lit(others)).alias(BROKEN_BY_ALL))
                else:
                    of_key = pl.lit(others)
                frame = frame.with_columns(
                    pl.min_horizontal(BROKEN, pl.when(pl.col(BROKEN).is_not_null()).then(of_key)).alias(BROKEN)
                )
        yield batch.with_frame(frame)

    def _others_of_key(self, port: int, frame: pl.DataFrame) -> pl.Expr:
        """For each row, the least that the other inputs have promised of its key."""
        least: pl.Series | None = None
        for i, reached in enumerate(self._reached):
            if i != port:
                ahead = self._keys[i]
                own = pl.repeat(reached, frame.height, dtype=pl.Int64, eager=True)
                if ahead is not None and (column := ahead.columns[0]) in frame.columns:
                    found = frame.select(column).join(ahead, on=column, how="left", maintain_order="left")
                    own = found.select(pl.max_horizontal(pl.col(TS).fill_null(MIN_TIME), pl.lit(reached))).to_series()
                least = own if least is None else pl.select(pl.min_horizontal(least, own)).to_series()
        assert least is not None
        return pl.lit(least)

    def on_key_punctuation(self, port: int, punctuation: KeyPunctuation) -> Iterator[Message]:
        """Say of keys what all inputs have said of them."""
        renamed = self._renamed[port].get(punctuation.column, punctuation.column)
        told = punctuation.frame.rename({punctuation.column: renamed}).select(renamed, TS)
        before = self._keys[port]
        if before is not None:
            if before.columns[0] != renamed:
                return
            told = pl.concat([before, told]).group_by(renamed).agg(pl.col(TS).max())
        self._keys[port] = told.filter(pl.col(TS) > self._reached[port])
        said = punctuation.frame.rename({punctuation.column: renamed}).select(renamed, TS)
        for i, (reached, ahead) in enumerate(zip(self._reached, self._keys, strict=True)):
            if i == port:
                continue
            if ahead is None or ahead.columns[0] != renamed:
                said = said.with_columns(pl.min_horizontal(TS, pl.lit(reached)).alias(TS))
                continue
            other = said.select(renamed).join(ahead, on=renamed, how="left", maintain_order="left").get_column(TS)
            least = pl.max_horizontal(other.fill_null(MIN_TIME), pl.lit(reached))
            said = said.with_columns(pl.min_horizontal(TS, least).alias(TS))
        said = said.filter(pl.col(TS) > max(self._said, MIN_TIME))
        if said.height:
            yield KeyPunctuation(said)

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Say what all inputs have said."""
        self._reached[port] = max(self._reached[port], punctuation.value)
        if punctuation.value != MAX_TIME:
            self._newest = max(self._newest, punctuation.value)
        least = min(self._reached)
        if least == MAX_TIME and self._newest > self._said:
            yield Punctuation(self._newest)
        if least > self._said:
            self._said = self.control.low_watermark = least
            yield Punctuation(least)

    def recalls(self) -> Recall | None:
        """What its inputs have promised."""
        of_keys = any(keys is not None for keys in self._keys)
        return None if of_keys else Recall(MAX_TIME, (tuple(self._reached), self._newest))

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Pass it on."""
        yield tick


__all__ = ["BROKEN", "LATE_ID", "Meld"]
