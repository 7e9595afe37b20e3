"""What a user's function does is told by its text and by the plain values it reads; what it changes itself is state."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from jupyter_stream.core.code import code_digest, values_read

TEXT = """
from decimal import Decimal
LIMIT, RATE, NAMES, COUNT, SEEN, LONG = {limit}, Decimal("1.5"), ("a", frozenset({{"y", "x"}})), 0, [], "z" * 100
def helper(x):
    return x + {more}
def plain(x):
    return x > LIMIT
def by_helper(x):
    return helper(x) * RATE
def counting(x):
    global COUNT
    COUNT += 1
    SEEN.append(x)
    return COUNT
def inside(x):
    return [y for y in NAMES if y != x.LIMIT]
def long(x):
    return LONG
def itself(x):
    return itself(x - 1) if x else LIMIT
class Sum:
    def iterate(self, x):
        self.total = x + LIMIT
    @staticmethod
    def terminate():
        return helper(1)
def around(k):
    def within(x):
        nonlocal later
        later = x
        return x + k
    later = 0
    return within
"""


def module(limit: int = 5, more: int = 1) -> Any:
    made = ModuleType("somebodys")
    exec(TEXT.format(limit=limit, more=more), vars(made))
    return made


@pytest.mark.parametrize(
    ("of", "values"),
    [
        (lambda m: m.plain, "LIMIT = 5"),
        (lambda m: m.counting, ""),
        (lambda m: m.inside, "NAMES = ('a', frozenset({'x', 'y'}))"),
        (lambda m: m.long, "LONG = '" + "z" * 59 + "... ("),
        (lambda m: m.itself, "LIMIT = 5"),
        (lambda m: m.around(3), "k = 3"),
        (lambda m: len, ""),
    ],
)
def test_plain_values_are_told_by_name(of: Callable[[Any], Any], values: str) -> None:
    told = values_read(of(module()))
    assert told == values or (len(values) > 20 and told.startswith(values))


def test_helpers_of_the_same_module_are_told_with_what_they_read() -> None:
    for of in (lambda m: m.by_helper, lambda m: m.Sum):
        before = values_read(of(module()))
        assert before == values_read(of(module())) and "helper = " in before
        assert before != values_read(of(module(more=2)))
    assert "LIMIT = 6" in values_read(module(limit=6).Sum)
    assert code_digest(module().by_helper) == code_digest(module(more=2).by_helper)
