"""Which step a thread of the engine is in, since when, and whether another thread has become the engine's meanwhile."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import polars as pl

from jupyter_stream.core.threads import Answer
from jupyter_stream.errors import QueryError

_local = threading.local()


class Turn:
    """One thread's time as the engine's.

    Args:
        submit: has the engine do something between two steps.

    Attributes:
        owner: the query or shared part whose step is under way; None between steps.
        aside: whether that step was set aside.
        queries: then, those that wait for it.
        since: when the last step began, by the monotonic clock.
        settled: held while it is seen to that the thread is the engine's, or made that it isn't.
    """

    def __init__(self, submit: Callable[[Callable[[], None]], Answer[None]]) -> None:
        self.owner: Any = None
        self.aside = False
        self.queries: Sequence[Any] = ()
        self.settled = threading.RLock()
        self._submit = submit
        self.since = 0.0
        self._thread: int | None = None

    def take(self) -> None:
        """This thread has it from now on."""
        self._thread = threading.get_ident()
        _local.turn = self

    def clear(self) -> None:
        """No thread has it any more."""
        self.owner, self._thread, self.settled = None, None, threading.RLock()

    @property
    def thread(self) -> int | None:
        """The thread's identifier."""
        return self._thread

    @property
    def seconds(self) -> float:
        """For how long the step under way has gone on."""
        return 0.0 if self.owner is None else time.monotonic() - self.since

    def begin(self, owner: Any) -> None:
        """A step begins."""
        self.since = time.monotonic()
        self.owner = owner

    def end(self) -> bool:
        """It has ended. Returns whether it was set aside."""
        with self.settled:
            self.owner = None
            return self.aside

    def by_engine(self, work: Callable[[], None]) -> None:
        """Have the engine do something between two steps, and wait for that."""
        self._submit(work).result()

    def abandon(self, how: type[BaseException]) -> None:
        """Raise an exception in the step, where it runs Python."""
        with self.settled:
            if self.owner is not None and self._thread is not None:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread), ctypes.py_object(how))


def late_at_hand() -> pl.DataFrame | None:
    """The late rows of the batch under way."""
    return getattr(_local, "late", None)


def have_at_hand(late: pl.DataFrame | None) -> None:
    """Late rows of the batch that is taken next."""
    _local.late = late


def of_this_thread() -> Turn | None:
    """The turn this thread has or had; None for a thread that isn't the engine's."""
    return getattr(_local, "turn", None)


def between_steps(work: Callable[[], None]) -> None:
    """Do what concerns more than one query: at once, or, in a step that was set aside, when the engine comes to it."""
    turn = of_this_thread()
    if turn is None:
        work()
        return
    with turn.settled:
        if not turn.aside:
            work()
            return
    with suppress(QueryError):  # the session was closed meanwhile
        turn.by_engine(work)
