"""What an aggregate is. Each family states its algebra once; operators never ask which aggregate they hold.

An aggregate has one of two forms:

- *dense*: a few numbers per group (`Partial`), kept in arrays indexed by pane and key slot; update, merge and subtract are array
  operations (about 1 ns per row and partial, NumPy 2.4);
- *frame*: anything else, kept as small frames of partial results per pane, merged by Polars' group-by (about 30 ns per row).

The classes are those of window-queries thesis §6.2.2: distributive and algebraic aggregates have partials of bounded size, a
holistic one has not; a differential one can take rows back (subtract), which decides how a sliding window is kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.arrays.exact import Exact
from jupyter_stream.core.messages import Array, Int64s
from jupyter_stream.functions.function import BadArguments as BadArguments

Op: TypeAlias = Literal["count", "sum", "min", "max"]
Algebra: TypeAlias = Literal["distributive", "algebraic", "holistic"]
Differential: TypeAlias = Literal["fully", "pseudo", "not"]

_GREATEST = 2**63 - 1
_LEAST = -(2**63)

SLOT = "slot"
"""Int64: the group, in frames of partials and of values."""
VALUE = "v"
"""The argument in frames given to `FrameForm`, and the partial results' own column where one is enough."""


@dataclass(frozen=True, slots=True)
class Partial:
    """One number per group and pane.

    Attributes:
        op: `count` counts non-NULL arguments; `sum`, `min`, `max` fold them.
        kind: `int` is exact int64, `float` is float64. Counts are ints.
    """

    op: Op
    kind: Literal["int", "float"] = "int"

    @property
    def identity(self) -> int | float:
        """The value of no rows. NaN for a float minimum: `fmin` then ignores it, and NaN counts as greatest (Spark)."""
        if self.op in ("count", "sum"):
            return 0
        if self.kind == "int":
            return _GREATEST if self.op == "min" else _LEAST
        return float("nan") if self.op == "min" else float("-inf")

    @property
    def subtractable(self) -> bool:
        """Whether rows can be taken back exactly: not from floats, whose sums drift and whose NaN never leaves."""
        return self.op in ("count", "sum") and self.kind == "int"

    @property
    def fold(self) -> np.ufunc:
        """The merge of two partials; associative and commutative."""
        if self.op == "min":
            return np.fmin if self.kind == "float" else np.minimum
        return np.maximum if self.op == "max" else np.add


@dataclass(frozen=True)
class Dense:
    """The dense form of an aggregate for given types.

    Attributes:
        partials: the numbers kept.
    """

    partials: tuple[Partial, ...]


@runtime_checkable
class FrameForm(Protocol):
    """The frame form: partial results as rows of (slot, extra keys, columns of its own).

    `update` and `merge` give expressions for a group-by over (slot, *extra); `finish` answers for each slot.
    Input rows have columns `slot`, `v` (and `v1`, `v2` for further arguments), `$ts`, in arrival order per slot.
    """

    @property
    def extra(self) -> tuple[str, ...]:
        """Further grouping columns of the partial results."""

    @property
    def needs_time(self) -> bool:
        """Whether it reads `$ts`."""

    @property
    def skips_nulls(self) -> bool:
        """Whether rows whose first argument is NULL are left out."""

    def update(self) -> list[pl.Expr]:
        """Partial results of raw rows."""

    def merge(self) -> list[pl.Expr]:
        """Partial results of partial results, earlier arrivals first."""

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """The answers, one row for each value of `by` in order of first appearance: columns `by`, `v`.

        Args:
            partials: merged: one row for each value of (by, *extra).
            by: the grouping columns, such as the slot.
        """


def nulls_of(function: AggregateFunction) -> object:
    """The value of an aggregate over rows of which none counts."""
    return function.of_nothing if function.of_nulls is None else function.of_nulls


def check_one(types: Sequence[pl.DataType], name: str) -> None:
    """Refuse any number of arguments but one. Raises `BadArguments`."""
    if len(types) != 1:
        raise BadArguments(f"{name} takes one argument")


def grouped(partials: pl.DataFrame, by: Sequence[str], answer: pl.Expr) -> pl.DataFrame:
    """An answer that is an expression over a group's partial results: columns `by`, `v`."""
    return partials.group_by(list(by), maintain_order=True).agg(answer.alias(VALUE))


@dataclass(frozen=True)
class Sums:
    """Exact sums over the rows that are there at each of some instants; arrays of one shape (instants,).

    Attributes:
        count: how many values.
        total: their sum, where it was asked for.
        squares: the sum of their squares, where it was asked for.
    """

    count: Int64s
    total: Exact | None = None
    squares: Exact | None = None


@dataclass(frozen=True)
class Addition:
    """An aggregate that is a function of exact sums, of arguments that are integers or floats: rows may come and go.

    Attributes:
        powers: 0: of counts only; 1: of sums; 2: of squares as well.
        finish: the answers, and where they are beyond their type (None for nowhere).
    """

    powers: int
    finish: Callable[[Sums, pl.DataType], tuple[pl.Series, NDArray[np.bool_] | None]]


@dataclass(frozen=True)
class Pick:
    """An aggregate that is one of the values that are there.

    Attributes:
        which: the one that came first or last, by time; the least or the greatest.
        skips_nulls: whether NULLs are left out.
    """

    which: Literal["first", "last", "least", "greatest"]
    skips_nulls: bool


class AggregateFunction(ABC):
    """A registered aggregate. Stateless.

    Attributes:
        name: in lower case.
        signature: how it is called.
        description: a sentence, for DESCRIBE FUNCTIONS.
        example: a call.
        algebra: its class (window-queries thesis §6.2.2).
        differential: whether rows can be taken back.
        constant_from: from which argument on they are constants; None for none.
        of_nothing: its value over no rows: 0 of counts, otherwise NULL.
        of_nulls: its value over rows of which none counts, as where its argument is NULL: empty of lists, else as over none.
        by_time: whether it goes by event time, so that rows must have one.
        stretch: how it is worked out where rows come and go one by one; None for from their partial results, each time.
    """

    name: str
    signature: str
    description: str
    example: str
    algebra: Algebra
    differential: Differential
    constant_from: int | None = None
    of_nothing: int | None = None
    of_nulls: object = None
    by_time: bool = False
    stretch: Addition | Pick | None = None

    @abstractmethod
    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """Types the arguments are cast to, and the result's. Raises `BadArguments`."""

    @abstractmethod
    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """How it is kept for these (resolved) types."""

    def finish(self, arrays: Sequence[Array], dtype: pl.DataType) -> pl.Series:
        """Answers from dense partials, one for each group; arrays are in the order of `Dense.partials`.

        Args:
            arrays: gathered partials, all of one length.
            dtype: the result's type.
        """
        raise TypeError(f"{self.name} has no dense form")


def is_number(dtype: pl.DataType) -> bool:
    """Whether it is a SQL number."""
    return dtype.is_numeric()


def as_series(values: Array, present: NDArray[np.bool_], dtype: pl.DataType) -> pl.Series:
    """Numbers as a column of `dtype` (times and dates too), NULL where nothing was aggregated."""
    series = pl.Series(values)
    if not present.all():
        series = series.set(pl.Series(~present), None)
    if isinstance(dtype, pl.Boolean):
        return series.cast(pl.Boolean)
    if isinstance(dtype, pl.Date):
        return series.cast(pl.Int32).cast(dtype)
    return series if series.dtype == dtype else series.cast(dtype)
