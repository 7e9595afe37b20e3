"""Aggregates over a list of rows, by definition: exact arithmetic first, rounded to a double at the very end."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from tests.oracle.predicates import Predicate
from tests.oracle.progress import Arrived
from tests.oracle.values import Near, Value, is_nan, less, same_key

CAREFUL = 1e-11
"""Relative error a careful double-precision method stays well below on the few hundred rows of a test."""


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a select list.

    Attributes:
        function: count, sum, avg, min, max, var_samp, var_pop, stddev_samp, stddev_pop, first, last.
        column: its argument; None for count(*).
        distinct: count(DISTINCT column).
        where: FILTER (WHERE ...).
    """

    function: str
    column: str | None = None
    distinct: bool = False
    where: Predicate | None = None

    def sql(self) -> str:
        argument = "*" if self.column is None else f"DISTINCT {self.column}" if self.distinct else self.column
        filtered = f" FILTER (WHERE {self.where.sql()})" if self.where else ""
        return f"{self.function}({argument}){filtered}"

    def over(self, rows: list[Arrived]) -> Value:
        """Its value over rows (in any order)."""
        kept = [r for r in rows if self.where is None or self.where.truth(r.row) is True]
        if self.column is None:
            return len(kept)
        if self.function in ("first", "last"):
            ordered = sorted(kept, key=lambda r: (r.ts, r.number))
            return None if not ordered else ordered[0 if self.function == "first" else -1].row[self.column]
        values = [r.row[self.column] for r in kept]
        present = [v for v in values if v is not None]
        if self.function == "count":
            return len({same_key(v) for v in present}) if self.distinct else len(present)
        return BY_NAME[self.function](present) if present else None


def is_special(values: list[Value]) -> bool:
    """Whether there is a NaN or an infinity among them, of which fractions know nothing."""
    return any(isinstance(v, float) and not math.isfinite(v) for v in values)


def special_sum(values: list[Value]) -> float:
    """The sum where a NaN or an infinity decides it."""
    odd = {v for v in values if isinstance(v, float) and math.isinf(v)}
    return math.nan if any(is_nan(v) for v in values) or len(odd) == 2 else odd.pop()


def total(values: list[Value]) -> Value:
    if not any(isinstance(v, float) for v in values):
        return sum(values)  # type: ignore[arg-type]
    if is_special(values):
        return special_sum(values)
    return Near(float(sum(map(Fraction, values))), CAREFUL * float(sum(abs(Fraction(v)) for v in values)))  # type: ignore[arg-type]


def mean(values: list[Value]) -> Value:
    if is_special(values):
        return special_sum(values)
    n = len(values)
    exact = sum(map(Fraction, values)) / n  # type: ignore[arg-type]
    return Near(float(exact), CAREFUL * float(sum(abs(Fraction(v)) for v in values) / n))  # type: ignore[arg-type]


def least(values: list[Value]) -> Value:
    found = values[0]
    for value in values[1:]:
        if less(value, found):
            found = value
    return found


def greatest(values: list[Value]) -> Value:
    found = values[0]
    for value in values[1:]:
        if less(found, value):
            found = value
    return found


def variance(values: list[Value], fewer: int) -> Value:
    """Sum of squared distances from the mean over n - fewer; NULL where that is nothing."""
    n = len(values)
    if n - fewer <= 0:
        return None
    if is_special(values):
        return math.nan
    exact = [Fraction(v) for v in values]  # type: ignore[arg-type]
    middle = sum(exact) / n
    result = sum((v - middle) ** 2 for v in exact) / (n - fewer)
    size = math.sqrt(float(sum(v * v for v in exact) / n))
    return Near(float(result), CAREFUL * math.sqrt(float(result)) * size + (CAREFUL * size) ** 2)


def deviation(values: list[Value], fewer: int) -> Value:
    found = variance(values, fewer)
    if not isinstance(found, Near):
        return found
    low, high = math.sqrt(max(0.0, found - found.slack)), math.sqrt(found + found.slack)
    return Near(math.sqrt(found), high - low)


BY_NAME: dict[str, Callable[[list[Value]], Value]] = {
    "sum": total,
    "avg": mean,
    "min": least,
    "max": greatest,
    "var_samp": lambda values: variance(values, 1),
    "var_pop": lambda values: variance(values, 0),
    "stddev_samp": lambda values: deviation(values, 1),
    "stddev_pop": lambda values: deviation(values, 0),
}
"""Aggregates of the values that are not NULL, at least one."""
