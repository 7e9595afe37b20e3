"""Work on arrays by two threads: NumPy and Polars let go of the interpreter while they compute, so a second core can help."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

Made = TypeVar("Made")


def side_by_side(tasks: Sequence[Callable[[], Made]]) -> list[Made]:
    """What each of the tasks makes, in their order. They must change nothing that others of them see."""
    if len(tasks) < 2:
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

    other = _second().submit(work)
    try:
        work()
    finally:
        other.result()
    return [made[number] for number in range(len(tasks))]


@cache
def _second() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="jupyter-stream beside")


__all__ = ["side_by_side"]
