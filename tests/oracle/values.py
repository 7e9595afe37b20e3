"""Values as Spark SQL sees them: three-valued comparison, NaN, equality for grouping. Not for types: Python's own serve.

NULL is None, times are integers (microseconds), everything else is what it is. NaN equals NaN and is greater than any other
number; -0.0 equals 0.0.
"""

from __future__ import annotations

import math

Value = int | float | str | bool | tuple["Value", ...] | None
"""Lists and structs are tuples."""
Row = dict[str, Value]


class Near(float):
    """A float that is right to within `slack`: what a numerically careful method could get wrong, and no more."""

    slack: float

    def __new__(cls, value: float, slack: float) -> Near:
        made = super().__new__(cls, value)
        made.slack = slack
        return made


def is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def equal(left: Value, right: Value) -> bool:
    """Equality of GROUP BY and DISTINCT: NULL equals NULL, NaN equals NaN."""
    return same_key(left) == same_key(right)


def same_key(value: Value) -> tuple[str, object]:
    """Something hashable that two values share exactly when GROUP BY puts them together."""
    if value is None:
        return ("null", None)
    if is_nan(value):
        return ("nan", None)
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, tuple):
        return ("list", tuple(same_key(v) for v in value))
    if isinstance(value, float):
        return ("number", value + 0.0)  # -0.0 + 0.0 is 0.0
    return ("number" if isinstance(value, int) else "string", value)


def less(left: Value, right: Value) -> bool:
    """Order of two values that are not NULL, NaN last, strings by code point."""
    assert left is not None and right is not None
    if is_nan(left):
        return False
    if is_nan(right):
        return True
    return left < right  # type: ignore[operator]


def compare(left: Value, operator: str, right: Value) -> bool | None:
    """`left operator right`, NULL if either is."""
    if left is None or right is None:
        return None
    same = equal(left, right)
    if operator == "=":
        return same
    if operator == "<>":
        return not same
    if operator == "<":
        return less(left, right)
    if operator == "<=":
        return same or less(left, right)
    if operator == ">":
        return less(right, left)
    assert operator == ">="
    return same or less(right, left)
