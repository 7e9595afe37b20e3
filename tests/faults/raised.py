"""What is raised in the middle of things, and what is said of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

import polars as pl

ALL = "FAULTS" in os.environ
"""`FAULTS=all`: every kind at every place, rather than each kind in turn."""

RAISED: dict[str, tuple[Callable[[], BaseException], str]] = {
    "exception": (lambda: RuntimeError("injected"), "RuntimeError: injected"),
    "panic": (lambda: pl.exceptions.PanicException("injected"), "PanicException: injected"),
    "interrupt": (KeyboardInterrupt, "interrupted|KeyboardInterrupt"),
    "memory": (lambda: MemoryError("injected"), "not enough memory|MemoryError"),
    "recursion": (lambda: RecursionError("injected"), "RecursionError: injected"),
    "exit": (lambda: SystemExit("injected"), "SystemExit: injected"),
}
PLACES = ("first", "middle", "last")


def combinations(names: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Of each name what is raised, and at which call."""
    kinds = list(RAISED)
    turn = 0
    for name in names:
        for place in PLACES:
            for kind in kinds if ALL else [kinds[turn % len(kinds)]]:
                yield name, place, kind
            turn += 1


def call_number(place: str, calls: int) -> int:
    """Which of so many calls is meant, from 1."""
    return {"first": 1, "middle": calls // 2 + 1, "last": calls}[place]
