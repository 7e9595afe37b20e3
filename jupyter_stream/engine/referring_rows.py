"""Rows that refer to another stream, as they came, until it is known whether they refer to something.

A join keeps the columns it needs; a row that breaks a FOREIGN KEY goes to `late(name)` whole, when the stream it refers to has
got past all it may refer to (`plan.references`).
"""

from __future__ import annotations

from collections import deque

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import bytes_of
from jupyter_stream.core.axis import plus
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import BROKEN, LATE_ID, ROW, TS, Int64s, ints
from jupyter_stream.graph.graph import Graph
from jupyter_stream.joins.window_join import WindowJoin
from jupyter_stream.plan.references import Referring


class ReferringRows:
    """Rows of a stream by their arrival numbers.

    Args:
        name: the stream's name.
        within: how long after a row what it refers to may come, microseconds.
    """

    def __init__(self, name: str, within: int) -> None:
        self.control = ControlTable(f"rows of {name} that wait for what they refer to")
        self._within = within
        self._frames: deque[tuple[pl.DataFrame, int]] = deque()  # in arrival order, each with its newest time

    def hold(self, frame: pl.DataFrame, pruned: bool) -> None:
        """Keep rows of a batch.

        Args:
            frame: with `$row` and `$ts`.
            pruned: whether the source can be asked for the others' columns: their numbers are enough then.
        """
        if ROW not in frame.columns or not frame.height:
            return
        columns = [ROW, TS] if pruned else [c for c in frame.columns if c in (ROW, TS) or not c.startswith("$")]
        newest = int(ints(frame.get_column(TS)).max())
        self._frames.append((frame.select(columns), newest))
        self._report()

    def reached(self, low_watermark: int) -> None:
        """All inputs of the query have got so far, and what follows from it has been told."""
        while self._frames and plus(self._frames[0][1], self._within) < low_watermark:
            self._frames.popleft()
        self._report()

    def close(self) -> None:
        """Nothing will be told any more."""
        self._frames.clear()
        self._report()

    def take(self, numbers: Int64s, broken: Int64s) -> pl.DataFrame | None:
        """Rows of these numbers, each once, with `$late` and `$broken`; None without any."""
        found = []
        which = np.argsort(numbers, kind="stable")
        numbers, broken = numbers[which], broken[which]
        for i, (frame, newest) in enumerate(self._frames):
            own = ints(frame.get_column(ROW))
            place = np.minimum(np.searchsorted(numbers, own), numbers.size - 1)
            there = numbers[place] == own
            if there.any():
                rows = frame.filter(pl.Series(there))
                found.append(
                    rows.drop(ROW).with_columns(
                        rows.get_column(ROW).alias(LATE_ID), pl.Series(BROKEN, broken[place[there]])
                    )
                )
                self._frames[i] = (frame.filter(pl.Series(~there)), newest)
        self._report()
        return pl.concat(found) if found else None

    def _report(self) -> None:
        self.control.holds(bytes_of(f for f, _ in self._frames))
        self.control.extra["rows"] = sum(f.height for f, _ in self._frames)


def judged_in(graph: Graph) -> list[Referring]:
    """The FOREIGN KEYs whose breaks a query's joins tell of."""
    joins = (s.operator for s in graph.steps if isinstance(s.operator, WindowJoin))
    return [j.judged for j in joins if j.judged is not None]


__all__ = ["ReferringRows", "judged_in"]
