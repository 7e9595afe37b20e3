"""A function of the user's that gets answers as they come. Its failure is told once, and the query goes on."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import polars as pl

from jupyter_stream.core import logs

log = logs.of("jupyter_stream")


class Callback:
    """Calls the function with each frame.

    Args:
        query: the query's name.
        function: of one frame.

    Attributes:
        failures: how often it raised.
        error: what it raised first, and where; None while it didn't.
    """

    def __init__(self, query: str, function: Callable[[pl.DataFrame], None]) -> None:
        self._query = query
        self._function = function
        self.failures = 0
        self.error: str | None = None

    def __call__(self, frame: pl.DataFrame) -> None:
        """Call it; what it raises goes to the log the first time, and is counted."""
        try:
            self._function(frame)
        except Exception as error:
            if self.error is None:
                name = getattr(self._function, "__name__", type(self._function).__name__)
                places = traceback.extract_tb(error.__traceback__)[1:]
                line = f", line {places[0].lineno}" if places else ""
                self.error = f"{name}{line}: {type(error).__name__}: {error}"
                log.exception("on_result of %s failed; the query goes on", self._query)
            self.failures += 1


def failure_note(callbacks: list[Callback]) -> str | None:
    """What a view says of those that failed; None where none did."""
    failed = [c for c in callbacks if c.failures]
    if not failed:
        return None
    first, times = failed[0], sum(c.failures for c in failed)
    often = "" if times == 1 else f" ({times:,} times so far)"
    return f"on_result failed in {first.error}{often}. The query goes on; the log has the traceback."
