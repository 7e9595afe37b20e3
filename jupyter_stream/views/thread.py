"""The view thread: owns every widget, takes snapshots, sends frames. One for all views of the process.

At most `FRAMES` a second, only of queries whose version has changed, one snapshot for all views that want the same rows, views
off the screen seldom, and never more than an eighth of a processor, or more messages or bytes than `budget` has, however many
views there are: the engine needs the interpreter more than charts do.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Final, Protocol

from jupyter_stream.core import logs, threads
from jupyter_stream.core.snapshot import Snapshot, Viewable
from jupyter_stream.views.budget import ViewBudget
from jupyter_stream.views.options import ViewOptions
from jupyter_stream.views.readers import Readers
from jupyter_stream.views.widget import PageChannel, Work

log = logs.of(__name__)

FRAMES: Final = 8.0
SHARE: Final = 0.12
SAVE_EVERY: Final = 5.0
KEPT: Final = 100
"""Ended views that still answer; the oldest beyond are closed, and the saved pictures take their place."""


class Served(Protocol):
    """A view in an output cell, as the thread that serves it sees it."""

    name: str
    options: ViewOptions
    readers: Readers
    ended: bool

    @property
    def viewable(self) -> Viewable | None:
        """The query; None once it is not asked any more."""

    @property
    def line(self) -> PageChannel:
        """Its line to the page."""

    def hear(self, said: dict[str, Any], /) -> Work | None:
        """Take a message from a page; says what the thread is to do, which gives the bytes sent."""

    def due(self) -> bool:
        """Whether it wants a snapshot."""

    def take(self, snapshot: Snapshot) -> None:
        """Note which snapshot it has."""

    def refresh(self, snapshot: Snapshot | None, now: float) -> int:
        """Send what changed; returns the bytes sent."""

    def change(self, options: ViewOptions) -> None:
        """Show it another way from now on."""

    def save(self, now: float, every: float) -> int:
        """Bring the picture in the notebook file up to date, if it is time; returns the bytes sent."""

    def close(self) -> None:
        """Take it off the page."""


class ViewThread:
    """The thread and its mailbox. Everything public may be called from any thread."""

    def __init__(self) -> None:
        self._commands: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._views: list[Served] = []
        self._budget = ViewBudget()
        self._stop = threads.Event()
        self._begin()

    def _begin(self) -> None:
        self._watched = threads.begin("jupyter-stream-views", self._run, self._ended)

    def _ended(self, error: BaseException | None) -> None:
        """The thread ended in the middle of its work: another serves the same views from here on."""
        if not self._stop.is_set():
            self._begin()

    @property
    def alive(self) -> bool:
        """Whether it still serves."""
        return self._watched.alive and not self._stop.is_set()

    def add(self, view: Served) -> None:
        """Serve a view from now on."""
        view.line.listen(lambda message: self._heard(view, message))
        self._commands.put(lambda: self._views.append(view))

    def change(self, viewable: Viewable, options: ViewOptions) -> None:
        """Show all views of a query another way."""
        self._commands.put(lambda: self._change(viewable, options))

    def close(self, timeout: float = 2.0) -> None:
        """Send last frames, take all views off their pages, end the thread."""
        self._commands.put(self._stop.set)
        if threading.current_thread() is not self._watched.thread:
            self._watched.thread.join(timeout)

    def _heard(self, view: Served, message: dict[str, Any]) -> None:
        work = view.hear(message)
        if work is not None:
            self._commands.put(lambda: self._budget.spend(work()))

    def _change(self, viewable: Viewable, options: ViewOptions) -> None:
        for view in self._views:
            if view.viewable is viewable:
                view.change(options)

    def _run(self) -> None:
        pause = 1 / FRAMES
        begun = time.monotonic()
        while not self._stop.is_set():
            self._obey(begun + pause)
            now = time.monotonic()
            self._budget.refill(now - begun)
            begun, before = now, time.thread_time()
            if not self._stop.is_set():
                self._frame(now)
            spent = time.thread_time() - before  # of the processor: waiting for the interpreter costs nobody anything
            pause = max(1 / FRAMES, spent / SHARE)
        self._frame(time.monotonic(), last=True)
        for view in self._views:
            with contextlib.suppress(BaseException):  # the kernel may already be closing its comms
                view.close()
        self._views.clear()

    def _obey(self, until: float) -> None:
        """Wait for the next frame, doing what is asked meanwhile; without running queries, wait for a command."""
        while not self._stop.is_set():
            idle = all(view.ended for view in self._views)
            wait = None if idle else until - time.monotonic()
            if wait is not None and wait <= 0:
                return
            try:
                command = self._commands.get(timeout=wait)
            except queue.Empty:
                return
            try:
                command()
            except BaseException:
                log.exception("a command to the view thread failed")
            if idle and not all(view.ended for view in self._views):
                return

    def _frame(self, now: float, *, last: bool = False) -> None:
        taken: dict[tuple[int, int], Snapshot] = {}
        # JupyterLab lays its page out again for each picture
        every = max(SAVE_EVERY, 2.0 * sum(not view.ended for view in self._views))
        # those that waited for the budget go first in the next frame
        for i, view in enumerate(list(self._views)):
            if not (last or self._budget.left):
                self._views = self._views[i:] + self._views[:i]
                break
            if view.ended or not (last or view.readers.due(now)):
                continue
            try:
                self._budget.spend(self._serve(view, taken, now))
                self._budget.spend(view.save(now, every))
            except BaseException:  # whatever a chart raises, panics of Polars too, costs it one frame
                log.exception("a frame of %s failed", view.name)
        ended = [view for view in self._views if view.ended]
        for view in ended[:-KEPT]:
            self._views.remove(view)
            with contextlib.suppress(BaseException):
                view.close()

    def _serve(self, view: Served, taken: dict[tuple[int, int], Snapshot], now: float) -> int:
        viewable = view.viewable
        assert viewable is not None
        snapshot = None
        if view.due():
            key = (id(viewable), view.options.rows)
            if key not in taken:
                taken[key] = viewable.snapshot(view.options.rows)
            snapshot = taken[key]
            view.take(snapshot)
        return view.refresh(snapshot, now)


_lock = threading.Lock()
_current: ViewThread | None = None


def current() -> ViewThread:
    """The process's view thread, started when it is first needed."""
    global _current
    with _lock:
        if _current is None or not _current.alive:
            _current = ViewThread()
        return _current


def add(view: Served) -> None:
    """Serve a view from now on."""
    current().add(view)


def close() -> None:
    """End the thread, if there is one; the next view starts another."""
    global _current
    with _lock:
        ended, _current = _current, None
    if ended is not None:
        ended.close()
