"""Aggregates that nothing but their own class knows run under every window, and without one: no operator asks for a name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl
import pytest

from jupyter_stream import aggregates
from jupyter_stream.aggregates.protocol import (
    VALUE,
    AggregateFunction,
    Algebra,
    BadArguments,
    Dense,
    Differential,
    FrameForm,
    Partial,
    as_series,
    grouped,
)
from jupyter_stream.core.messages import Array
from tests.engine.checked import check
from tests.oracle import aggregates as oracle
from tests.oracle.aggregates import Aggregate
from tests.tiers import thinned
from tests.windowed.test_every_window import CASES, WINDOWS


class _Made(AggregateFunction):
    signature = example = description = ""
    algebra: Algebra = "distributive"
    differential: Differential = "not"

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        if len(types) != 1 or distinct:
            raise BadArguments(f"{self.name} takes one argument")
        return (pl.Int64(),), pl.Int64()


class Lowest(_Made):
    """A minimum that isn't called min."""

    name = "lowest"

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        return Dense((Partial("min"), Partial("count")))

    def finish(self, arrays: Sequence[Array], dtype: pl.DataType) -> pl.Series:
        return as_series(arrays[0], arrays[1] > 0, dtype)


class Total(_Made):
    """A sum of integers that isn't called sum."""

    name = "altogether"
    differential: Differential = "fully"

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        return Dense((Partial("sum"), Partial("count")))

    def finish(self, arrays: Sequence[Array], dtype: pl.DataType) -> pl.Series:
        return as_series(arrays[0], arrays[1] > 0, dtype)


class HowMany(_Made):
    """A count of values that isn't called count: 0 over no rows."""

    name = "how_many"
    of_nothing = 0

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        return Dense((Partial("count"),))

    def finish(self, arrays: Sequence[Array], dtype: pl.DataType) -> pl.Series:
        return pl.Series(arrays[0])


class _LastDigits:
    extra: tuple[str, ...] = ()
    needs_time = False
    skips_nulls = True

    def update(self) -> list[pl.Expr]:
        return [pl.col(VALUE).max()]

    def merge(self) -> list[pl.Expr]:
        return [pl.col(VALUE).max()]

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        return grouped(partials, by, pl.col(VALUE).max())


class Highest(_Made):
    """A maximum in frames."""

    name = "highest"

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        return _LastDigits()


MADE = {"lowest": Lowest(), "altogether": Total(), "how_many": HowMany(), "highest": Highest()}
MEANT = {"lowest": "min", "altogether": "sum", "highest": "max"}


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, function in MADE.items():
        monkeypatch.setitem(aggregates._BY_NAME, name, function)
    for name, meant in MEANT.items():
        monkeypatch.setitem(oracle.BY_NAME, name, oracle.BY_NAME[meant])
    yield


class Counted(Aggregate):
    """`how_many`: the oracle's count under that name."""

    def sql(self) -> str:
        return super().sql().replace("count(", "how_many(")


@pytest.mark.parametrize("case", ["NULLs", "close to overflow", "late", "no row"])
@pytest.mark.parametrize("window", thinned(WINDOWS, 27))
def test_it_runs_under_every_window(window: str, case: str) -> None:
    made = (*(Aggregate(name, "n") for name in MEANT), Counted("count", "n"))
    check(WINDOWS[window], CASES[case], made, splits=(1,))
    if case != "late":
        check(WINDOWS[window], CASES[case], made, grouped=False, splits=(None,))
