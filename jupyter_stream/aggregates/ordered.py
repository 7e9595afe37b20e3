"""Aggregates with ORDER BY inside: lists, texts, first and last by keys of their own instead of by time.

Rows with equal keys go by event time, ties by arrival. Plans call these; people write `array_agg(x ORDER BY y)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import polars as pl

from jupyter_stream.aggregates.protocol import (
    VALUE,
    AggregateFunction,
    Algebra,
    BadArguments,
    Dense,
    Differential,
    FrameForm,
    grouped,
)
from jupyter_stream.core.messages import TS
from jupyter_stream.core.schema import type_name

Key: TypeAlias = tuple[bool, bool]
"""Of each key: whether it descends, and whether NULLs come last."""


def _sorted(column: pl.Expr, keys: Sequence[Key], by: Sequence[pl.Expr]) -> pl.Expr:
    """A column in order of arrival, by keys and times."""
    return column.sort_by(
        by,
        descending=[*(descends for descends, _ in keys), False],
        nulls_last=[*(last for _, last in keys), False],
        maintain_order=True,
    )


def _names(keys: Sequence[Key]) -> list[str]:
    return [*(f"{VALUE}{i}" for i in range(1, len(keys) + 1)), TS]


class OrderedValues:
    """Values with their keys and times, as lists.

    Args:
        keys: how each key goes.
        once: whether each value counts once.
        separator: what texts are joined with; None for a list.
    """

    extra: tuple[str, ...] = ()
    needs_time = True
    skips_nulls = True

    def __init__(self, keys: Sequence[Key], once: bool, separator: str | None) -> None:
        self._keys, self._once, self._separator = keys, once, separator

    def update(self) -> list[pl.Expr]:
        """All of them, as they came."""
        return [pl.col(name).implode() for name in (VALUE, *_names(self._keys))]

    def merge(self) -> list[pl.Expr]:
        """All of them, earlier arrivals first."""
        return [pl.col(name).explode().implode() for name in (VALUE, *_names(self._keys))]

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """The list or the text."""
        values = _sorted(pl.col(VALUE).explode(), self._keys, [pl.col(n).explode() for n in _names(self._keys)])
        if self._once:
            values = values.unique(maintain_order=True)
        return grouped(partials, by, values.implode() if self._separator is None else values.str.join(self._separator))


class OrderedEnd:
    """The value that comes first or last, with its keys and its time."""

    extra: tuple[str, ...] = ()
    needs_time = True
    skips_nulls = False

    def __init__(self, keys: Sequence[Key], latest: bool) -> None:
        self._keys, self._latest = keys, latest

    def update(self) -> list[pl.Expr]:
        """That row."""
        by = [pl.col(n) for n in _names(self._keys)]
        columns = [_sorted(pl.col(n), self._keys, by) for n in (VALUE, *_names(self._keys))]
        return [c.last() if self._latest else c.first() for c in columns]

    def merge(self) -> list[pl.Expr]:
        """That row of partial results; earlier arrivals come first."""
        return self.update()

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """The value alone."""
        return grouped(partials, by, self.update()[0])


class OrderedAggregate(AggregateFunction):
    """An aggregate with ORDER BY inside: the value, then the keys; its parameters are how each key goes.

    Args:
        of: the aggregate as it is written.
    """

    differential: Differential = "not"
    by_time = True

    def __init__(self, of: str) -> None:
        self.name = f"{of} by keys"
        self.signature = f"{of}(x ORDER BY y)"
        self.description = f"{of}, in the order of its keys."
        self.example = f"{of}(x ORDER BY y)"
        self.algebra: Algebra = "algebraic" if of in ("first", "last") else "holistic"
        self.of_nulls: object = () if of == "collect_list" else None
        self._of = of

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """The value's type, a list of it, or STRING."""
        for dtype in types[1:]:
            if dtype.is_nested():
                raise BadArguments(f"ORDER BY needs values that can be ordered, not {type_name(dtype)}")
        if self._of in ("first", "last"):
            return tuple(types), types[0]
        if self._of == "string_agg":
            return (pl.String(), *types[1:]), pl.String()
        return tuple(types), pl.List(types[0])

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """The values with their keys and times."""
        separator = next((p for p in parameters if isinstance(p, str)), None)
        keys = [(bool(p[0]), bool(p[1])) for p in parameters if isinstance(p, tuple)]
        if self._of in ("first", "last"):
            return OrderedEnd(keys, self._of == "last")
        return OrderedValues(keys, distinct, separator)


ORDERED: Final = {f"{of} by keys": OrderedAggregate(of) for of in ("collect_list", "string_agg", "first", "last")}
"""By the names that plans call them by."""


def ordered(name: str) -> OrderedAggregate | None:
    """The aggregate of that registered name with ORDER BY inside; None where the order is of no matter."""
    return ORDERED.get(f"{name} by keys")
