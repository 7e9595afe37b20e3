"""SAMPLE(p): some of a stream's rows, each kept by chance. Which ones is worked out from the row alone, so that it repeats."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from jupyter_stream.arrays.runs import begins_run
from jupyter_stream.core.messages import ROW, TS, Batch, Int64s, KeyPunctuation, Message
from jupyter_stream.flow.protocol import Stateless
from jupyter_stream.plan.logical import Sample

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def scrambled(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """64 bits of each number that look like chance: the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    with np.errstate(over="ignore"):
        mixed = numbers + _GOLDEN
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
        return mixed ^ (mixed >> np.uint64(31))


class SampleOperator(Stateless):
    """Rows kept by chance: by their arrival number where they have one, otherwise by their values and their time."""

    def __init__(self, plan: Sample) -> None:
        super().__init__(f"sample {plan.percent:g}%")
        self._numbered = plan.numbered
        self._columns = plan.schema.names
        self._all = plan.percent >= 100
        self._below = np.uint64(min(int(plan.percent / 100 * 2**64), 2**64 - 1))
        self._last = (0, 0)  # the last row's number, and how many copies of it there were
        self._start = scrambled(np.array([plan.seed % 2**64], np.uint64))[0]

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep what the dice say."""
        frame = batch.frame
        if self._all or not frame.height:
            yield batch
            return
        if self._numbered:
            numbers = batch.ints(ROW)
            copies = _copies(numbers)
            if self._last[0] == numbers[0]:  # a batch may have been cut between the copies of a row
                copies[: int(np.argmax(numbers != numbers[0])) or numbers.size] += np.uint64(self._last[1])
            self._last = int(numbers[-1]), int(copies[-1]) + 1
            chance = scrambled(scrambled(numbers.view(np.uint64) ^ self._start) + copies)
        else:
            values = frame.select(*(c for c in self._columns if c in frame.columns), TS)
            chance = scrambled(values.hash_rows().to_numpy() ^ self._start)
        kept = frame.filter(chance < self._below)
        if kept.height or batch.tells:
            yield batch.with_frame(kept)

    def on_key_punctuation(self, port: int, punctuation: KeyPunctuation) -> Iterator[Message]:
        """Pass it on."""
        yield punctuation


def _copies(numbers: Int64s) -> NDArray[np.uint64]:
    """Which of the rows made from one row (by a look-up, side by side) each is, from 0."""
    places = np.arange(numbers.size, dtype=np.uint64)
    begins = begins_run(numbers)
    return places - np.maximum.accumulate(np.where(begins, places, np.uint64(0)))


__all__ = ["SampleOperator", "scrambled"]
