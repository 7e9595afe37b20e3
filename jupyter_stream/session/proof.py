"""Whether two runs of a query gave the same answers, and which rows differ. Not for running them.

Rows are compared as bags: an answer has no order. Floating-point numbers are the same when they agree to nine digits, since
sums add up in the order in which rows came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

DIGITS: Final = 1e-9
"""Share of the larger of two numbers by which they may differ."""
SIDE: Final = "run"
"""Column of differing rows that says which run gave them."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What comparing two runs of one query showed.

    Attributes:
        query: its name.
        what: what was compared, in words: `answers`, `changes`, `late rows`.
        rows: rows of the run in recorded order.
        differing: rows that only one of the runs gave, which one in the column `run`; none when the runs are equal.
    """

    query: str
    what: str
    rows: int
    differing: pl.DataFrame

    @property
    def equal(self) -> bool:
        """Whether both runs gave the same."""
        return not self.differing.height

    def __repr__(self) -> str:
        said = f"equal ({self.rows:,} rows)" if self.equal else f"{self.differing.height:,} rows differ"
        return f"{self.query}, {self.what}: {said}"


def compare(query: str, what: str, recorded: pl.DataFrame, shuffled: pl.DataFrame) -> Proof:
    """Compare the rows of two runs.

    Args:
        query: the query's name.
        what: what the rows are.
        recorded: rows of the run in recorded order.
        shuffled: rows of the run in another order, with the same columns.
    """
    left, right = _only_in(recorded, shuffled), _only_in(shuffled, recorded)
    if left.height and right.height:
        left, right = _not_close(left, right)
    differing = pl.concat(
        [frame.select(pl.lit(run).alias(SIDE), pl.all()) for run, frame in (("recorded", left), ("shuffled", right))]
    )
    return Proof(query, what, recorded.height, differing)


def _only_in(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """The rows of one that have no equal in the other, copy for copy."""
    keyed, other_keyed = _numbered(one), _numbered(other)
    keys = keyed.columns
    if not keys:
        return one
    alone = keyed.with_row_index("$at").join(other_keyed, on=keys, how="anti", nulls_equal=True)
    return one[alone.get_column("$at").sort()] if alone.height else one.clear()


def _numbered(frame: pl.DataFrame) -> pl.DataFrame:
    """Values that can be joined on, and which copy of its values each row is."""
    plain = frame.with_columns(
        frame.get_column(n).map_elements(repr, pl.String()) for n, t in frame.schema.items() if t.is_nested()
    )
    return plain.with_columns(pl.int_range(pl.len()).over(plain.columns).alias("$copy")) if plain.width else plain


def _not_close(left: pl.DataFrame, right: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Those rows that have no partner which differs by rounding alone."""
    floats = [n for n, t in left.schema.items() if t.is_float()]
    if not floats:
        return left, right
    exact = [n for n in left.columns if n not in floats]
    left, right = (_ordered(f, exact, floats) for f in (left, right))
    one, other = left.with_row_index("$left"), right.with_row_index("$right")
    rank = pl.int_range(pl.len()).over(exact).alias("$rank") if exact else pl.int_range(pl.len()).alias("$rank")
    pairs = _numbered_nested(one.with_columns(rank), exact).join(
        _numbered_nested(other.with_columns(rank), exact), on=[*exact, "$rank"], how="inner", nulls_equal=True
    )
    close = [_close(pl.col(n), pl.col(f"{n}_right")) for n in floats]
    near = pairs.filter(pl.all_horizontal(close))
    return (
        one.join(near.select("$left"), on="$left", how="anti").drop("$left"),
        other.join(near.select("$right"), on="$right", how="anti").drop("$right"),
    )


def _numbered_nested(frame: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    nested = [n for n in columns if frame.schema[n].is_nested()]
    return frame.with_columns(frame.get_column(n).map_elements(repr, pl.String()) for n in nested)


def _ordered(frame: pl.DataFrame, exact: list[str], floats: list[str]) -> pl.DataFrame:
    plain = [n for n in exact if not frame.schema[n].is_nested()]
    return frame.sort([*plain, *floats], nulls_last=True)


def _close(one: pl.Expr, other: pl.Expr) -> pl.Expr:
    larger = pl.max_horizontal(one.abs(), other.abs(), pl.lit(1.0))
    return one.eq_missing(other) | ((one - other).abs() <= DIGITS * larger).fill_null(False)
