"""Work on arrays by two threads: NumPy and Polars let go of the interpreter while they compute, so a second core can help."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from jupyter_stream.core import threads

Made = TypeVar("Made")

_PATIENCE: Final = 0.05
"""Seconds the second thread has to begin something before who waits for it does it."""

_within = threading.local()


class Begun(Generic[Made]):
    """A task that the second thread does unless somebody who needs it is first."""

    def __init__(self, task: Callable[[], Made]) -> None:
        self._task = task
        self._token = deque((None,))
        self.answer: threads.Answer[Made] = threads.Answer()

    def take(self) -> bool:
        """Whether the caller is to do it, and nobody else."""
        try:
            self._token.pop()
        except IndexError:
            return False
        return True

    def do(self) -> None:
        """Do it, unless it has been begun."""
        if not self.take():
            return
        try:
            self.answer.give(self._task())
        except BaseException as error:
            self.answer.fail(error)

    def result(self) -> Made:
        """What it makes. Done here if the second thread has other things to do."""
        if not self.answer.wait(_PATIENCE):
            self.do()
        return self.answer.result()


class _Second:
    """The second thread."""

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[Begun[Any]] = queue.SimpleQueue()
        self._task: Begun[Any] | None = None
        self._start()

    def _start(self) -> None:
        self._watched = threads.begin("jupyter-stream beside", self._run, self._died)

    def add(self, task: Begun[Any]) -> None:
        self._tasks.put(task)

    def _run(self) -> None:
        _within.a_task = True
        while True:
            self._task = self._tasks.get()
            self._task.do()
            self._task = None

    def _died(self, error: BaseException | None) -> None:
        task = self._task  # this may be called again: first whoever waits, then another thread
        if task is not None and not task.answer.done():
            task.answer.fail(error or RuntimeError("the second thread ended in the middle of a task"))
        self._task = None
        self._start()


def in_parallel(tasks: Sequence[Callable[[], Made]]) -> list[Made]:
    """What each of the tasks makes, in their order. They must change nothing that others of them see.

    A task that has tasks itself does them alone: its thread is one of the two.
    """
    if len(tasks) < 2 or getattr(_within, "a_task", False):
        return [task() for task in tasks]
    waiting = deque(enumerate(tasks))
    made: dict[int, Made] = {}

    def work() -> None:
        while True:
            try:
                number, task = waiting.popleft()
            except IndexError:
                return
            made[number] = task()

    other = begun(work)
    _within.a_task = True
    try:
        work()
    finally:
        _within.a_task = False
        if not other.take():  # the second thread may not have come to it: it has begun something else
            other.answer.result()
    return [made[number] for number in range(len(tasks))]


def begun(task: Callable[[], Made]) -> Begun[Made]:
    """What the second thread makes of a task as soon as it can, while the caller goes on. Tasks of its own it does alone."""
    global _second
    made = Begun(task)
    with _lock:
        if _second is None:
            _second = _Second()
    _second.add(made)
    return made


_lock = threading.Lock()
_second: _Second | None = None


def _forked() -> None:
    global _lock, _second
    _lock, _second = threading.Lock(), None


threads.on_fork(_forked)

__all__ = ["Begun", "begun", "in_parallel"]
