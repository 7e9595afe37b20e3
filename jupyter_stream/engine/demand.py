"""Who idle-waits for a source: the way back from operators that hold something to the stream they wait for [stream-mill §4].

Stream Mill's scheduler backtracks from an operator whose *more* is false, to the input that is empty, to the source, and has it
make an enabling time stamp that goes down the same path. Here the path is looked at from the source: nothing is made for one that
nobody waits for, under policies that never backtrack as well. Low-watermarks of inputs are the paper's TSM registers;
`flow.protocol.Waits` is its relaxed *more*.

Where it can't be told whether an operator waits, or until when, a stamp is made too: while a reader's steps are done by another
thread or something is held back for it, and where an operator on the way has been told as much and lags behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.engine.feed import Feed
from jupyter_stream.engine.stamper import Wanted
from jupyter_stream.flow.protocol import waits_for
from jupyter_stream.graph.graph import Entry, StepInput


@runtime_checkable
class Traced(Protocol):
    """A reader of feeds whose operators can be looked at: a query, or a part that queries share."""

    feeds: dict[Feed, list[Entry]]

    @property
    def takes(self) -> bool | None:
        """Whether its operators are given what comes: None where that is by another thread, or later."""

    def onward(self) -> Iterator[tuple[StepInput, int]]:
        """Where what its last operator gives goes on to in other readers, and how far these were told it is."""


def wanted(feed: Feed) -> Wanted:
    """What those who read a feed wait for."""
    until, unsure = MAX_TIME, False
    for reader in (*feed.readers, *feed.parts):
        if not isinstance(reader, Traced) or reader.takes is None:
            unsure = True
        elif reader.takes:
            starts = [(e.target, feed.reached) for e in reader.feeds.get(feed, ()) if e.target is not None]
            for start, said in (*starts, *reader.onward()):
                for waits in _along(start, said):
                    if waits > feed.reached:
                        until = min(until, waits)
                    else:  # it was told as much, and an operator between lags behind
                        unsure = True
    return Wanted(until, unsure)


def _along(start: StepInput, said: int) -> Iterator[int]:
    """What operators wait for, on the way from an input that was told to be so far to the answers."""
    target: StepInput | None = start
    while target is not None:
        step = target.step
        waits = waits_for(step.operator)
        if waits == MIN_TIME or said < waits != MAX_TIME:
            yield waits
        said, target = step.said, step.target


__all__ = ["Traced", "wanted"]
