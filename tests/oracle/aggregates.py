"""Aggregates over a list of rows, by definition: exact arithmetic first, rounded to a double at the very end."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from itertools import groupby

from tests.oracle import moments
from tests.oracle.predicates import Predicate
from tests.oracle.progress import Arrived
from tests.oracle.values import Near, Value, is_nan, less, same_key

CAREFUL = 1e-11
"""Relative error a careful double-precision method stays well below on the few hundred rows of a test."""


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a select list.

    Attributes:
        function: any exact aggregate of the language.
        column: its argument; None for count(*).
        distinct: count(DISTINCT column).
        where: FILTER (WHERE ...).
        by: the second column of arg_min, arg_max and aggregates of pairs.
        constant: the second argument of quantile, heavy_hitters, string_agg and others.
    """

    function: str
    column: str | None = None
    distinct: bool = False
    where: Predicate | None = None
    by: str | None = None
    constant: float | str | None = None

    def sql(self) -> str:
        argument = "*" if self.column is None else f"DISTINCT {self.column}" if self.distinct else self.column
        if self.by is not None:
            argument += f", {self.by}"
        if self.constant is not None:
            quoted = str(self.constant).replace("'", "''")
            argument += f", '{quoted}'" if isinstance(self.constant, str) else f", {self.constant}"
        filtered = f" FILTER (WHERE {self.where.sql()})" if self.where else ""
        return f"{self.function}({argument}){filtered}"

    def over(self, rows: list[Arrived]) -> Value:
        """Its value over rows (in any order)."""
        kept = [r for r in rows if self.where is None or self.where.truth(r.row) is True]
        if self.column is None:
            return len(kept)
        ordered = sorted(kept, key=lambda r: (r.ts, r.number))
        if self.function in ("first", "last"):
            return None if not ordered else ordered[0 if self.function == "first" else -1].row[self.column]
        if self.function in moments.OF_PAIRS:
            assert self.by is not None
            return moments.of_pairs(self.function, [(r.row[self.column], r.row[self.by]) for r in ordered])
        if self.by is not None:
            return extreme_row(self.function, self.column, self.by, ordered)
        values = [r.row[self.column] for r in ordered]
        present = [v for v in values if v is not None]
        if self.distinct and self.function in ("collect_list", "string_agg"):
            present = first_times([(r.ts, r.row[self.column]) for r in ordered])
        if self.function == "count":
            return len({same_key(v) for v in present}) if self.distinct else len(present)
        if self.function == "count_if":
            return sum(v is True for v in present)
        if not present:
            return () if self.function == "collect_list" and rows else None
        if self.function in WITH_CONSTANT:
            return WITH_CONSTANT[self.function](present, self.constant)
        return BY_NAME[self.function](present)

    def alive(self, rows: list[Arrived]) -> Value:
        """Its value over the rows of a relation or of a row's OVER: a list of no rows is empty, where an extent's is NULL."""
        value = self.over(rows)
        return () if value is None and self.function == "collect_list" else value


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


def extreme_row(function: str, column: str, by: str, ordered: list[Arrived]) -> Value:
    """`column` in the first row whose `by`, which isn't NULL, is least or greatest."""
    found: Arrived | None = None
    for row in ordered:
        value = row.row[by]
        if value is None:
            continue
        best = None if found is None else found.row[by]
        if found is None or (less(value, best) if function == "arg_min" else less(best, value)):
            found = row
    return None if found is None else found.row[column]


def in_order(values: list[Value]) -> list[Value]:
    return sorted(values, key=cmp_to_key(lambda a, b: -1 if less(a, b) else 1 if less(b, a) else 0))


def quantile(values: list[Value], q: float) -> Value:
    """Linear between the two values around position q (n - 1)."""
    ordered = in_order(values)
    position = (len(ordered) - 1) * q
    low, high = ordered[math.floor(position)], ordered[math.ceil(position)]
    share = position - math.floor(position)
    if share == 0 or low == high or (is_nan(low) and is_nan(high)):
        return float(low)  # type: ignore[arg-type]
    if is_special([low, high]):
        return special_sum([v for v in (low, high) if is_special([v])])
    exact = Fraction(low) * (1 - Fraction(share)) + Fraction(high) * Fraction(share)  # type: ignore[arg-type]
    return Near(float(exact), CAREFUL * float(max(abs(Fraction(low)), abs(Fraction(high)))))  # type: ignore[arg-type]


def counted(values: list[Value]) -> list[tuple[Value, int]]:
    """Each value and how often it occurs, the most frequent first, then the least."""
    counts: dict[object, int] = {}
    for value in values:
        counts[same_key(value)] = counts.get(same_key(value), 0) + 1
    distinct = in_order(list({same_key(v): v for v in values}.values()))
    return sorted(((v, counts[same_key(v)]) for v in distinct), key=lambda pair: -pair[1])


def heavy_hitters(values: list[Value], fraction: float) -> Value:
    least_count = Fraction(str(fraction)) * len(values)
    return tuple(pair for pair in counted(values) if pair[1] >= least_count)


def first_times(values: list[tuple[int, Value]]) -> list[Value]:
    """Each value once, by the first time it is there; those of one time in order."""
    found: dict[object, tuple[int, Value]] = {}
    for ts, value in values:
        if value is not None:
            found.setdefault(same_key(value), (ts, value))
    return [v for _, group in groupby(sorted(found.values(), key=lambda f: f[0]), key=lambda f: f[0])
            for v in in_order([value for _, value in group])]  # fmt: skip


def quantile_disc(values: list[Value], q: float) -> Value:
    """The first value in order with a share of q of the values up to it."""
    ordered = in_order(values)
    return ordered[max(0, math.ceil(len(ordered) * q) - 1)]


def greatest_few(values: list[Value], k: int) -> Value:
    return tuple(in_order(values)[::-1][:k])


WITH_CONSTANT: dict[str, Callable[[list[Value], object], Value]] = {
    "quantile": quantile,  # type: ignore[dict-item]
    "heavy_hitters": heavy_hitters,  # type: ignore[dict-item]
    "string_agg": lambda values, separator: ("" if separator is None else str(separator)).join(values),  # type: ignore[arg-type]
    "quantile_disc": quantile_disc,  # type: ignore[dict-item]
    "topk": greatest_few,  # type: ignore[dict-item]
    "topkdistinct": lambda values, k: greatest_few(list({same_key(v): v for v in values}.values()), k),  # type: ignore[arg-type]
    "earliest_by_offset": lambda values, n: values[0] if n is None else tuple(values[:n]),  # type: ignore[misc]
    "latest_by_offset": lambda values, n: values[-1] if n is None else tuple(values[-n:]),  # type: ignore[misc, operator]
}
"""Aggregates of the values that are not NULL, at least one, in time order, and a constant."""

BY_NAME: dict[str, Callable[[list[Value]], Value]] = {
    "sum": total,
    "avg": mean,
    "min": least,
    "max": greatest,
    "var_samp": lambda values: variance(values, 1),
    "var_pop": lambda values: variance(values, 0),
    "stddev_samp": lambda values: deviation(values, 1),
    "stddev_pop": lambda values: deviation(values, 0),
    "skewness": moments.skewness,
    "kurtosis": moments.kurtosis,
    "median": lambda values: quantile(values, 0.5),
    "mode": lambda values: counted(values)[0][0],
    "collect_list": tuple,
    "bit_and": lambda values: functools.reduce(operator.and_, values),  # type: ignore[arg-type]  # integers
    "bit_or": lambda values: functools.reduce(operator.or_, values),  # type: ignore[arg-type]  # integers
    "bit_xor": lambda values: functools.reduce(operator.xor, values),  # type: ignore[arg-type]  # integers
    "bool_and": all,
    "bool_or": any,
}
"""Aggregates of the values that are not NULL, at least one, in time order."""
