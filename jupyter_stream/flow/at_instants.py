"""What operators over relations have in common: changes wait until every input has told all about their instants.

Then they are worked on, by time. So the order in which changes come means nothing, nor which input is ahead. An operator says
what it does with those that are due (`step`), and where it needs to, what it keeps of those that come (`take`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.rows import bytes_of, earliest, rows_at, rows_where, shown, together
from jupyter_stream.core.axis import plus
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import TS, Batch, Message, Punctuation, Tick, ints
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.flow.late_rows import in_time


class AtInstants(ABC):
    """An operator that works on the rows or changes of whole instants.

    Args:
        name: for EXPLAIN.
        inputs: how many.
    """

    def __init__(self, name: str, inputs: int = 1) -> None:
        self.control = ControlTable(name)
        self.synopses: list[ControlTable] = []
        self._waiting: tuple[list[pl.DataFrame], ...] = tuple([] for _ in range(inputs))
        self._promised = [MIN_TIME] * inputs
        self._reached = MIN_TIME  # what all inputs have promised

    # -- what an operator says ---------------------------------------------------------------------------------------

    @abstractmethod
    def step(self, due: Sequence[pl.DataFrame | None], until: int) -> Iterable[Message]:
        """All inputs have come to a time: what follows from what came before it.

        Args:
            due: of each input what it has been waiting with, by time; what is of one time as it came. None for nothing.
            until: the time; it is later each time.
        """

    def take(self, port: int, frame: pl.DataFrame) -> Iterable[Message]:
        """Keep what is needed of rows that came, at least one and none of them late. Returns what is to be told at once."""
        self.keep(port, frame)
        return ()

    def report(self) -> None:
        """Say what is held now, after each step."""
        self.holds(0)

    def head(self, most: int) -> pl.DataFrame:
        """The first of what it remembers. Unless said, that is what waits."""
        return shown((f for frames in self._waiting for f in frames), most)

    # -- for their use -----------------------------------------------------------------------------------------------

    def keep(self, port: int, frame: pl.DataFrame) -> None:
        """Have rows wait; those of an input have the same columns each time, `$ts` among them."""
        if frame.height:
            self._waiting[port].append(frame)
            self.control.holds(self.control.bytes + int(frame.estimated_size()))

    def holds(self, kept: int) -> None:
        """Say how many bytes are held beside what waits."""
        self.control.holds(kept + bytes_of(f for frames in self._waiting for f in frames))

    @property
    def waiting_rows(self) -> int:
        """How many rows wait."""
        return sum(f.height for frames in self._waiting for f in frames)

    @property
    def since(self) -> int:
        """The earliest time of what waits; `MAX_TIME` for nothing."""
        return earliest(f for frames in self._waiting for f in frames)

    @property
    def waits_for(self) -> int:
        """The time after that of the first change that waits. What time alone brings about an operator says itself."""
        return plus(self.since, 1)

    # -- rows and time -----------------------------------------------------------------------------------------------

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep rows until their time has come; late ones are told."""
        frame, missed = in_time(batch.frame, self._reached, self.control)
        if missed is not None:
            yield missed
        if frame.height:
            yield from self.take(port, frame)

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Work on the instants that all inputs have told all about, and say so."""
        self._promised[port] = max(self._promised[port], punctuation.value)
        least = min(self._promised)
        if least <= self._reached:
            return
        self._reached = self.control.low_watermark = least
        yield from self.step([_due(frames, least) for frames in self._waiting], least)
        self.report()
        yield Punctuation(least)

    def on_tick(self, tick: Tick) -> Iterable[Message]:
        """Pass it on: a relation has no provisional answers."""
        return (tick,)


def _due(frames: list[pl.DataFrame], until: int) -> pl.DataFrame | None:
    """Takes out the rows before a time, in its order."""
    if not frames:
        return None
    rows = together(frames)
    times = ints(rows.get_column(TS))
    now = times < until
    if now.all():
        frames.clear()
    elif now.any():
        frames[:] = [rows_where(rows, ~now)]
        rows, times = rows_where(rows, now), times[now]
    else:
        frames[:] = [rows]
        return None
    return rows if (times[1:] >= times[:-1]).all() else rows_at(rows, order_of(times))


__all__ = ["AtInstants"]
