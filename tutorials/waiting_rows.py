"""Draws numbers while queries run, a few times a second, such as how many rows wait: for tutorials 10 and 12."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from drawing import Chart

from jupyter_stream import Query

_STEP = 0.1
"""Seconds between two looks."""
_SHOWN = 300
"""Looks that are shown: the last half minute."""


def waiting(query: Query) -> dict[str, int]:
    """The rows that wait now: in the queue of each source, in front of each operator, and in what puts rows in order."""
    found = {}
    for node in query.diagram().nodes:
        rows = node.queued or 0
        if node.title.startswith("in the order of time"):
            rows += node.rows_in - node.rows_out
        if node.queued is not None or rows:
            found[node.title] = rows
    return found


class Watch:
    """A chart of numbers that are looked at while queries run, from now on; `stop()` ends it.

    Args:
        series: names of lines, each with what is drawn.
        y: what they are.
        seconds: for how long it looks, at most.
    """

    def __init__(self, series: Mapping[str, Callable[[], float]], y: str, seconds: float = 120) -> None:
        self.chart = Chart(list(series), "seconds", y, links=True)
        self._series = series
        self._until = time.monotonic() + seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        began = time.monotonic()
        while not self._over.wait(_STEP) and (now := time.monotonic()) < self._until:
            seen = {name: read() for name, read in self._series.items()}
            for points in self.chart.points.values():
                for values in points.values():
                    del values[:-_SHOWN]
            for name, value in seen.items():
                self.chart.add(name, round(now - began, 2), value)
