"""Expressions of one row that are deeper than Python's calls may be have the values of shallow ones."""

from __future__ import annotations

import polars as pl
import pytest

from jupyter_stream.functions import Column, Expr, Literal, resolve
from jupyter_stream.functions.scalar import RowError, compile_scalar

A = Column("a", pl.Int64())
ONE = Literal(1, pl.Int64())


def chained(function: str, other: Expr, levels: int) -> Expr:
    """A call in a call in a call, with the same second argument."""
    made: Expr = A
    for _ in range(levels):
        made = resolve(function, [made, other])
    return made


@pytest.mark.parametrize("levels", [5, 150, 250, 2_000])
def test_a_chain_of_any_length_has_its_value(levels: int) -> None:
    value = compile_scalar(chained("+", ONE, levels), {"a": 0})
    assert [value([7]), value([None])] == [7 + levels, None]


def test_it_fails_where_a_shallow_one_fails() -> None:
    value = compile_scalar(chained("+", ONE, 300), {"a": 0})
    with pytest.raises(RowError, match="BIGINT"):
        value([2**63 - 300])
