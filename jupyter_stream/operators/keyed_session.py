"""Sessions where punctuations may speak for one key (group-wise linear punctuation, window-queries thesis §2.3).

A key's sessions are given, and forgotten, as soon as the key is promised to be a gap past them, whatever the others do.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from jupyter_stream.core.messages import TS, Int64s, KeyPunctuation, Message, ints
from jupyter_stream.operators.protocol import Recall
from jupyter_stream.operators.session_aggregate import SessionAggregate, SessionAggregateConfig


class KeyedSessionAggregate(SessionAggregate):
    """Answers per session and group, given when no row of its key to come can join the session.

    Args:
        config: as of any sessions.
        key: which of the grouping columns punctuations speak of; one of the partition's.
    """

    def __init__(self, config: SessionAggregateConfig, key: int) -> None:
        super().__init__(config)
        assert key in config.partition and self._partitions is not None
        self._name = config.keys[key][0]
        self._place = config.partition.index(key)
        self.control.name += f", final for each {self._name} by itself"

    def recalls(self) -> Recall | None:
        """What was promised of each key too, which nobody repeats."""
        return None

    def _close_late(self, slots: Int64s, broken: Int64s) -> Iterator[Message]:
        assert self._partitions is not None
        promised = np.full(self._partitions.capacity, self._reached)
        np.maximum.at(promised, slots, broken)
        yield from self._finish(self._intervals.close_each(promised))

    def on_key_punctuation(self, port: int, punctuation: KeyPunctuation) -> Iterator[Message]:
        """Give the sessions it makes final for its keys, and say so."""
        assert self._partitions is not None
        told = punctuation.frame.rename({punctuation.column: self._name})
        held = np.union1d(self._intervals.open.slot, self._intervals.past.slot)
        promised = np.full(self._partitions.capacity, self._reached)
        if held.size:
            keys = pl.DataFrame([self._partitions.gather(held)[self._place].alias(self._name)])
            values = keys.join(told, on=self._name, how="left", maintain_order="left").get_column(TS)
            promised[held] = np.maximum(ints(values.fill_null(self._reached)), self._reached)
        yield from self._finish(self._intervals.close_each(promised))
        self._report()
        yield KeyPunctuation(told)


__all__ = ["KeyedSessionAggregate"]
