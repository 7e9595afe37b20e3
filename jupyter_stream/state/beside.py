"""Work on arrays by two threads: NumPy and Polars let go of the interpreter while they compute, so a second core can help."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import TypeVar

Made = TypeVar("Made")

_within = threading.local()


def side_by_side(tasks: Sequence[Callable[[], Made]]) -> list[Made]:
    """What each of the tasks makes, in their order. They must change nothing that others of them see.

    A task that has tasks itself does them alone: its thread is one of the two.
    """
    if len(tasks) < 2 or getattr(_within, "a_task", False):
        return [task() for task in tasks]
    waiting = deque(enumerate(tasks))
    made: dict[int, Made] = {}

    def work() -> None:
        _within.a_task = True
        try:
            while True:
                try:
                    number, task = waiting.popleft()
                except IndexError:
                    return
                made[number] = task()
        finally:
            _within.a_task = False

    other = _second().submit(work)
    try:
        work()
    finally:
        if not other.cancel():  # the second thread may not have come to it: it has begun something else
            other.result()
    return [made[number] for number in range(len(tasks))]


def begun(task: Callable[[], Made]) -> Future[Made]:
    """What the second thread makes of a task as soon as it can, while the caller goes on. Tasks of its own it does alone."""

    def work() -> Made:
        _within.a_task = True
        try:
            return task()
        finally:
            _within.a_task = False

    return _second().submit(work)


@cache
def _second() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="jupyter-stream beside")


__all__ = ["begun", "side_by_side"]
