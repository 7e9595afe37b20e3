"""Threads of ours: none ends in silence.

Whatever one raises (`BaseException`: panics of Polars, interrupts, `SystemExit` of a user's code) is written to the log, and who
started it is told. One supervisor looks at all of them several times a second, finds those that ended all the same, and tells
who started them as well.
"""

from __future__ import annotations

import contextlib
import math
import os
import queue
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, TypeVar, cast

from jupyter_stream.core import logs

log = logs.of(__name__)

T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., Any])

LOOK: Final = 0.1
"""Seconds between two looks of the supervisor."""

GLANCE: Final = 0.02
"""Seconds between two of its glances, as long as somebody wants them."""


_RING: Final = 0.5
"""Seconds after which somebody who waits looks without having been rung for."""


class _Bell:
    """Wakes who waits. It takes no lock that an interrupt could leave held."""

    def __init__(self) -> None:
        self._rung: queue.SimpleQueue[None] = queue.SimpleQueue()

    def ring(self) -> None:
        """Something has changed."""
        if self._rung.empty():
            self._rung.put(None)

    def hush(self) -> None:
        """Nobody has rung."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._rung.get_nowait()

    def wait(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        """Wait for a condition so many seconds at most. Returns whether it holds."""
        until = math.inf if timeout is None else time.monotonic() + timeout
        while not condition():
            left = until - time.monotonic()
            if left < 0:
                return False
            try:  # who changed it may have been interrupted before it could ring
                self._rung.get(timeout=min(left, _RING))
            except queue.Empty:
                continue
            if condition():
                self.ring()  # others may wait as well
        return True


class Event(threading.Event):
    """A `threading.Event` that no interrupt can leave locked.

    Python's takes its lock in a function written in Python: an exception that another thread or Ctrl-C raises just as that
    function returns leaves the lock held for ever, and whoever sets the event, or waits for it, stands still.
    """

    def __init__(self) -> None:
        self._on = False
        self._bell = _Bell()

    def _at_fork_reinit(self) -> None:
        self._bell = _Bell()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {'set' if self._on else 'unset'}>"

    def is_set(self) -> bool:
        """Whether it is set."""
        return self._on

    def set(self) -> None:
        """Let all who wait go on, and who comes."""
        self._on = True
        self._bell.ring()

    def clear(self) -> None:
        """Who comes from now on waits."""
        self._bell.hush()
        self._on = False

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, so many seconds at most. Returns whether it is."""
        return self._bell.wait(self.is_set, timeout)


class Watched:
    """A thread under watch.

    Attributes:
        thread: the thread itself.
    """

    def __init__(self, name: str, run: Callable[[], None], died: Callable[[BaseException | None], None]) -> None:
        self._run = run
        self._died = died
        self._begun = self._over = False
        self._error: BaseException | None = None
        self.thread = threading.Thread(target=self._guarded, name=name, daemon=True)
        vars(self.thread)["_started"] = Event()  # `start` waits for it: left locked, the thread would never run

    @property
    def alive(self) -> bool:
        """Whether it goes on."""
        return self.thread.is_alive() and not self._over

    def _guarded(self) -> None:
        self._begun = True  # a thread has an identity a little before it passes for alive
        try:
            self._run()
        except BaseException as error:
            self._error = error
            log.exception("thread %s ended", self.thread.name)
            self.tell()
        else:
            self._over = True
        finally:
            if self._over:
                _watched.pop(self, None)

    def look(self) -> None:
        """Tell who started it if it has ended without a word."""
        if self._begun and not self.thread.is_alive() and not self._over:
            log.error("thread %s ended without a word", self.thread.name)
            self.tell()

    def tell(self) -> None:
        """Tell who started it, once, that it has ended."""
        if self._over:
            return
        try:
            self._died(self._error)
        except BaseException:
            log.exception("what follows the end of thread %s failed", self.thread.name)
            if (
                threading.current_thread() is self.thread
            ):  # an interrupt may have hit this as well: the supervisor tells again
                return
        self._over = True
        _watched.pop(self, None)


def begin(name: str, run: Callable[[], None], died: Callable[[BaseException | None], None]) -> Watched:
    """Start a thread, a daemon.

    Args:
        name: its name.
        run: what it does.
        died: called, by any thread, if it raises or ends in the middle: with the error, None if it isn't known. If an
            interrupt hits that as well it is called again.
    """
    global _began
    _began = True
    keep_interrupts_in_the_main_thread()
    made = Watched(name, run, died)
    _watched[made] = None
    try:
        made.thread.start()
    except BaseException:
        _watched.pop(made, None)
        raise
    supervise()
    return made


def attend(look: Callable[[], None], glance: Callable[[], bool] | None = None) -> None:
    """Have the supervisor call methods again and again, while their object lives.

    Args:
        look: called ten times a second.
        glance: called as often, and some five times as often while it returns True.
    """
    _looks.append(weakref.WeakMethod(cast("Any", look)))
    if glance is not None:
        _glances.append(weakref.WeakMethod(cast("Any", glance)))
    supervise()


def dismiss(look: Callable[[], None], glance: Callable[[], bool] | None = None) -> None:
    """Have them called no more."""
    with contextlib.suppress(ValueError):
        _looks.remove(weakref.WeakMethod(cast("Any", look)))
    with contextlib.suppress(ValueError):
        _glances.remove(weakref.WeakMethod(cast("Any", glance)))


def glance_soon() -> None:
    """Something may be to see at the next glance, which doesn't wait for the next look."""
    if not _soon:  # otherwise it comes in a moment
        _bell.set()


def on_fork(forked: Callable[[], None]) -> None:
    """Have a function, or a method while its object lives, called in a process forked from this one: no thread lives on there."""
    _forks.append(weakref.WeakMethod(cast("Any", forked)) if hasattr(forked, "__self__") else lambda: forked)


# -- the supervisor -----------------------------------------------------------------------------------------------------

_watched: dict[Watched, None] = {}
_looks: list[weakref.WeakMethod[Callable[[], None]]] = []
_glances: list[weakref.WeakMethod[Callable[[], bool]]] = []
_bell = Event()
_forks: list[Callable[[], Callable[[], None] | None]] = []
_lock = threading.Lock()
_began = _fork = False
_soon = False  # whether the next glance comes without being rung for
_supervisor: threading.Thread | None = None


def supervise() -> None:
    """See to it that the supervisor is there."""
    global _supervisor
    if _supervisor is not None and _supervisor.is_alive():
        return
    with _lock:
        if _supervisor is None or not _supervisor.is_alive():
            _supervisor = threading.Thread(target=_look_after, name="jupyter-stream supervisor", daemon=True)
            _supervisor.start()


def _look_after() -> None:
    global _supervisor, _soon
    bell, _soon, looked = _bell, False, time.monotonic()
    while True:
        try:
            bell.wait(GLANCE if _soon else LOOK)
            bell.clear()
            _soon = False  # who has something to see meanwhile may be too late for this glance: it rings
            wanted = [glance() for glance in _living(_glances)]  # all of them
            _soon = any(wanted)
            if time.monotonic() - looked < LOOK - GLANCE / 2:
                continue
            looked = time.monotonic()
            for each in list(_watched):
                each.look()
            for look in _living(_looks):
                look()
            with _lock:  # without anybody to look after it ends, and the next thread brings another
                if not _watched and not _looks:
                    _supervisor, _soon = None, False
                    return
        except BaseException:
            log.exception("a look of the supervisor failed")


def _living(references: list[weakref.WeakMethod[Method]]) -> Iterator[Method]:
    """The methods whose objects live; others are forgotten."""
    for reference in list(references):
        method = reference()
        if method is None:
            references.remove(reference)
        else:
            yield method
        del method


def in_a_fork() -> bool:
    """Whether this process was forked from one with threads of ours. Polars' are gone as well: it would wait for ever."""
    return _fork


def _forked() -> None:
    global _lock, _supervisor, _fork, _bell, _soon
    _lock, _supervisor, _bell, _soon = threading.Lock(), None, Event(), False
    _fork = _fork or _began
    _watched.clear()
    for reference in list(_forks):
        forked = reference()
        if forked is not None:
            forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


# -- interrupts ---------------------------------------------------------------------------------------------------------


def keep_interrupts_in_the_main_thread() -> None:
    """Leave SIGINT to Python, which raises it in the main thread alone.

    Polars adds a handler when it is imported, by which an interrupt is raised in whatever thread computes, ours among them
    (pola-rs/polars#20961). Setting Python's own once more takes it out again, as ipykernel does around each cell.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    known = signal.getsignal(signal.SIGINT)
    if known is not None:  # None: not Python's to set
        signal.signal(signal.SIGINT, known)


# -- what one thread gives another --------------------------------------------------------------------------------------


class Answer(Generic[T]):
    """What a thread is to give another. Unlike `concurrent.futures.Future` no interrupt can leave a lock of it held."""

    def __init__(self) -> None:
        self._given: tuple[bool, Any] | None = None
        self._bell = _Bell()

    def give(self, value: T) -> None:
        """Here it is."""
        self._given = (True, value)
        self._bell.ring()

    def fail(self, error: BaseException) -> None:
        """There is none."""
        self._given = (False, error)
        self._bell.ring()

    def done(self) -> bool:
        """Whether it is there."""
        return self._given is not None

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for it so many seconds at most. Returns whether it is there."""
        return self._bell.wait(self.done, timeout)

    def result(self, timeout: float | None = None) -> T:
        """Wait for it.

        Raises:
            TimeoutError: it isn't there after so many seconds.
        """
        if not self.wait(timeout):
            raise TimeoutError
        assert self._given is not None
        good, value = self._given
        if not good:
            raise value
        return cast("T", value)


__all__ = [
    "GLANCE",
    "LOOK",
    "Answer",
    "Event",
    "Watched",
    "attend",
    "begin",
    "dismiss",
    "glance_soon",
    "in_a_fork",
    "keep_interrupts_in_the_main_thread",
    "on_fork",
    "supervise",
]
