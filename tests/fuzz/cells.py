"""The cell fuzzer: cells made of those there are, and cells drawn from the grammar."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.fuzz.corpus import cells
from tests.fuzz.drawn import drawn
from tests.fuzz.law import Bench, Finding
from tests.fuzz.mutations import mutated


def cell(seed: int, number: int) -> str:
    """The n-th cell of a seed."""
    draw = random.Random(seed * 1_000_003 + number)
    if draw.random() < 0.5:
        text = drawn(draw)
        return mutated(text, draw, cells()) if draw.random() < 0.3 else text
    return mutated(draw.choice(cells()), draw, cells())


def trying(seed: int, start: int) -> Callable[[int], tuple[str, Finding | None]]:
    """A function that tries the n-th cell; one that only makes it, where `start` is -1."""
    bench = Bench() if start >= 0 else None

    def try_one(number: int) -> tuple[str, Finding | None]:
        text = cell(seed, number)
        return text, None if bench is None else bench.check(text)

    return try_one
