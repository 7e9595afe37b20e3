"""Technique: leave rows out at the query's input, by chance. Saves the work and the memory that go with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jupyter_stream.approximation.estimates import EstimatesOperator
from jupyter_stream.approximation.protocol import Loss, Saved
from jupyter_stream.approximation.shed import ShedOperator
from jupyter_stream.plan.tolerance import percent


class Shedding:
    """Load shedding at some streams.

    Args:
        streams: what sheds, one for each stream.
        answers: what knows how many rows answers need; None where they are rows.
    """

    name: Final = "shed"

    def __init__(self, streams: Sequence[ShedOperator], answers: EstimatesOperator | None) -> None:
        self._streams = tuple(streams)
        self._answers = answers

    @property
    def least(self) -> float:
        """What was said, or what answers need to be as exact as was said."""
        said = max(stream.least for stream in self._streams)
        return said if self._answers is None else max(said, self._answers.needed)

    @property
    def now(self) -> float:
        """The share of rows that is looked at."""
        return min(float(stream.control.settings["share"]) for stream in self._streams)

    def leave(self, share: float) -> None:
        """Look at so much of what comes."""
        for stream in self._streams:
            stream.control.settings["share"] = min(1.0, max(share, self.least))

    @property
    def saves(self) -> Saved:
        """Rows that don't come need no work, and aren't remembered."""
        return Saved(rows=1 - self.now, kept=1 - self.now)

    @property
    def costs(self) -> Loss:
        """Rows left out are missing; none is wrong."""
        return Loss(fn=1 - self.now)

    @property
    def said(self) -> str:
        """The share that is looked at."""
        return f"looks at {percent(self.now)} of the rows"

    @property
    def shed(self) -> int:
        """Rows left out."""
        return sum(stream.shed for stream in self._streams)


__all__ = ["Shedding"]
