"""Load shedding at a query's input (stream-manager §5.2.2): rows are left out by chance, as many as there is no room for.

Which ones is worked out from the row's arrival number, so that neither its values nor the order of rows make a difference. Not
for how many: that is the setting `share`, which `easing` writes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from jupyter_stream.approximation.ledger import ExtentLedger
from jupyter_stream.core.messages import ROW, TS, Batch, KeyPunctuation, Message
from jupyter_stream.flow.protocol import Stateless
from jupyter_stream.flow.sample import scrambled
from jupyter_stream.plan.logical import Shed
from jupyter_stream.plan.weighed import WEIGHT


class ShedOperator(Stateless):
    """Rows with their weights, and without those that are shed.

    Args:
        plan: what may be shed.
        ledger: counts what came and what was kept of each extent; None where answers are rows.
    """

    def __init__(self, plan: Shed, ledger: ExtentLedger | None) -> None:
        super().__init__(f"shed rows under load, of which {plan.percent:g}% stay at least")
        self.least = plan.percent / 100
        self._ledger = ledger
        self._start = scrambled(np.array([plan.seed % 2**64], np.uint64))[0]
        self.control.settings["share"] = 1.0
        self.shed = 0
        """Rows left out."""

    def head(self, most: int) -> pl.DataFrame:
        """The first panes of which rows are counted."""
        return pl.DataFrame() if self._ledger is None else self._ledger.head(most)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep what the dice say."""
        share = float(self.control.settings["share"])
        kept = None
        frame = batch.frame
        if share < 1 and frame.height:
            chance = scrambled(batch.ints(ROW).view(np.uint64) ^ self._start)
            kept = chance < np.uint64(min(int(share * 2**64), 2**64 - 1))
        if self._ledger is not None:
            self._ledger.note(batch.ints(TS), kept)
            self.control.holds(self._ledger.bytes)
        if kept is not None:
            frame = frame.filter(pl.Series(kept))
            self.shed += batch.rows - frame.height
            self.control.extra["shed"] = self.shed
        if frame.height or batch.tells:
            weight = pl.Series(WEIGHT.name, np.full(frame.height, 1 / share))
            yield batch.with_frame(frame.hstack([weight]))

    def on_key_punctuation(self, port: int, punctuation: KeyPunctuation) -> Iterator[Message]:
        """Pass it on."""
        yield punctuation


__all__ = ["ShedOperator"]
