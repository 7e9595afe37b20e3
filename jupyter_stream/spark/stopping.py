"""Ending Spark's queries, with whatever they are just about to begin."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

log = logging.getLogger(__name__)

_AGAIN: Final = 1.0
"""Seconds between two times that Spark is told to give up the jobs of a query."""


@contextmanager
def stopped(query: Any, context: Any) -> Iterator[None]:
    """With a query of Spark's stopped, and no job of it going on until the end.

    Spark gives up the jobs it finds when it is told to stop. One that begins just then, by a micro-batch that was still being
    planned, would go on, and its micro-batch with it, for as long as it takes, or for ever.

    Args:
        query: Spark's.
        context: Spark's too; None on Spark Connect, which has no threads of ours to wait for.
    """
    ended = threading.Event()

    def give_up_jobs() -> None:
        while not ended.wait(_AGAIN):
            try:
                context.cancelJobGroup(str(query.runId))
            except Exception:  # all of Spark may have stopped
                log.debug("giving up the jobs of a query", exc_info=True)

    if context is not None:
        threading.Thread(target=give_up_jobs, name="jupyter-stream stopping", daemon=True).start()
    try:
        try:
            query.stop()
        except Exception:  # it has stopped by itself, or all of Spark has
            log.debug("stopping a query", exc_info=True)
        yield
    finally:
        ended.set()
