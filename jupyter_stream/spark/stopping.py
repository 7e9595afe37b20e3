"""Ending Spark's queries, with whatever they are just about to begin."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from jupyter_stream.core import logs, threads

log = logs.of(__name__)

_AGAIN: Final = 1.0
"""Seconds between two times that Spark is told to give up the jobs of a query."""
_LAST: Final = 10.0
"""Seconds that the end of the process waits for Spark to let go of queries."""
_at_work: dict[threading.Thread, Callable[[], object]] = {}
"""Threads in which queries run, and what has each of them end."""


@contextmanager
def ending_with_the_process(stop: Callable[[], object]) -> Iterator[None]:
    """While the query of this thread runs, the end of the process stops it: Spark would write on into a folder that is deleted.

    Args:
        stop: has the query stop, and with it this thread; doesn't wait for that.
    """
    _registered()
    _at_work[threading.current_thread()] = stop
    try:
        yield
    finally:
        _at_work.pop(threading.current_thread(), None)


@cache
def _registered() -> None:
    """Later than what deletes folders, of which there is one by now: it comes before that."""
    atexit.register(_stop_all)


def _stop_all() -> None:
    until = time.monotonic() + _LAST
    at_work = {thread: stop for thread, stop in list(_at_work.items()) if thread.is_alive()}  # in a fork none is
    for stop in at_work.values():
        stop()
    for thread in at_work:
        thread.join(max(0.0, until - time.monotonic()))


@contextmanager
def stopped(query: Any, context: Any) -> Iterator[None]:
    """With a query of Spark's stopped, and no job of it going on until the end.

    Spark gives up the jobs it finds when it is told to stop. One that begins just then, by a micro-batch that was still being
    planned, would go on, and its micro-batch with it, for as long as it takes, or for ever.

    Args:
        query: Spark's.
        context: Spark's too; None on Spark Connect, which has no threads of ours to wait for.
    """
    ended = threads.Event()

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
