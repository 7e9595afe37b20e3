"""Expressions to Polars. Not for functions themselves: each row of the table has its own kernel."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

import polars as pl

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP
from jupyter_stream.functions import registry
from jupyter_stream.functions.expression import Column, Expr, Literal
from jupyter_stream.functions.function import Compiled, Failure
from jupyter_stream.functions.types import ATOMIC, BIGINT, DATE, INT, VOID


def compile_kernel(expr: Expr) -> Compiled:
    """The expression for Polars: a value that never raises, and the rows that fail.

    What has no columns is computed here, once: `ts > '2024-01-01'` can't fail on any row.
    """
    made, _ = _compile(expr)
    return Compiled(made.value, tuple(Failure(f.condition.fill_null(False), f.reason) for f in made.failures))


def _compile(expr: Expr) -> tuple[Compiled, bool]:
    """The compiled expression and whether it is constant."""
    if isinstance(expr, Column):
        return Compiled(pl.col(expr.name)), False
    if isinstance(expr, Literal):
        return Compiled(literal(expr)), True
    parts = [_compile(arg) for arg in expr.args]
    kernel = registry.find(expr.function).kernel
    if kernel is None:
        raise ValueError(f"{expr.function} is written in terms of other functions: make it with resolve()")
    made = kernel(expr, tuple(p for p, _ in parts))
    if not all(constant for _, constant in parts):
        return made, False
    return _computed(made, expr.dtype), True


def _computed(made: Compiled, dtype: pl.DataType) -> Compiled:
    for failure in made.failures:
        if pl.select(failure.condition).item():
            return Compiled(pl.lit(None, dtype=dtype), (Failure(pl.lit(True), failure.reason),))
    if dtype not in (*ATOMIC, VOID):
        return Compiled(made.value)
    value = pl.select(made.value).to_series()
    if dtype in (TIMESTAMP, INTERVAL, DATE):  # Python's own times are too small
        physical = INT if dtype == DATE else BIGINT
        return Compiled(pl.lit(value.cast(physical).item(), dtype=physical).cast(dtype))
    return Compiled(pl.lit(value.item(), dtype=dtype))


def literal(expr: Literal) -> pl.Expr:
    """A literal for Polars; times with a zone are brought to UTC."""
    value = expr.value
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)
    if isinstance(value, list | tuple) or (isinstance(value, Iterable) and not isinstance(value, str | bytes)):
        return pl.lit(pl.Series([list(value)], dtype=expr.dtype))
    return pl.lit(value, dtype=expr.dtype)
