"""Arithmetic fails exactly where a plain Python model says, and is that model's value elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream.functions import Column, Literal, compile_kernel, resolve
from jupyter_stream.functions.types import BIGINT, INT, RANGES, SMALLINT, TINYINT
from tests.tiers import examples


def truncated(a: int, b: int) -> int:
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


def remainder(a: int, b: int) -> int:
    return a - b * truncated(a, b)


MODEL: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "%": remainder,
}


def integers(dtype: pl.DataType) -> st.SearchStrategy[int]:
    low, high = RANGES[dtype]
    edges = [low, low + 1, -1, 0, 1, 2, high // 2, high // 2 + 1, high - 1, high]
    return st.integers(low, high) | st.sampled_from(edges)


def expected(op: str, dtype: pl.DataType, a: int | None, b: int | None) -> tuple[bool, int | None]:
    """Whether the row fails, and its value if not."""
    if a is None or b is None:
        return False, None
    if op == "%" and b == 0:
        return True, None
    made = MODEL[op](a, b)
    low, high = RANGES[dtype]
    return (False, made) if low <= made <= high else (True, None)


def check(op: str, dtype: pl.DataType, frame: pl.DataFrame, a: Column | Literal, b: Column | Literal) -> None:
    made = compile_kernel(resolve(op, [a, b]))
    failed = pl.any_horizontal(pl.lit(False), *(f.condition for f in made.failures))
    got = frame.with_columns(value=made.value, failed=failed)
    for left, right, value, fails in got.select(
        (pl.col("a") if isinstance(a, Column) else pl.lit(a.value)).alias("left"),
        (pl.col("b") if isinstance(b, Column) else pl.lit(b.value)).alias("right"),
        "value",
        "failed",
    ).iter_rows():
        wanted_failure, wanted = expected(op, dtype, left, right)
        assert fails == wanted_failure, (left, op, right)
        if not fails:
            assert value == wanted, (left, op, right)


@pytest.mark.parametrize("dtype", [TINYINT, SMALLINT, INT, BIGINT], ids=str)
@pytest.mark.parametrize("op", MODEL)
@settings(max_examples=examples(30), deadline=None)
@given(data=st.data())
def test_integer_arithmetic_fails_exactly_where_it_overflows(op: str, dtype: pl.DataType, data: st.DataObject) -> None:
    value = st.none() | integers(dtype)
    rows = data.draw(st.lists(st.tuples(value, value), min_size=1, max_size=20))
    frame = pl.DataFrame(rows, schema={"a": dtype, "b": dtype}, orient="row")
    constant = data.draw(integers(dtype))
    check(op, dtype, frame, Column("a", dtype), Column("b", dtype))
    check(op, dtype, frame, Column("a", dtype), Literal(constant, dtype))
    check(op, dtype, frame, Literal(constant, dtype), Column("b", dtype))


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(st.none() | integers(BIGINT), st.none() | integers(BIGINT)), min_size=1, max_size=20),
    integers(BIGINT),
)
def test_div_rounds_towards_zero(rows: list[tuple[int | None, int | None]], constant: int) -> None:
    frame = pl.DataFrame(rows, schema={"a": BIGINT, "b": BIGINT}, orient="row")
    for right in (Column("b", BIGINT), Literal(constant, BIGINT)):
        made = compile_kernel(resolve("div", [Column("a", BIGINT), right]))
        failed = pl.any_horizontal(pl.lit(False), *(f.condition for f in made.failures))
        got = frame.with_columns(value=made.value, failed=failed)
        for a, b, value, fails in got.iter_rows():
            b = b if isinstance(right, Column) else constant
            if a is None or b is None:
                assert (value, fails) == (None, False)
            elif b == 0 or (a == -(2**63) and b == -1):
                assert fails
            else:
                assert (value, fails) == (truncated(a, b), False)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(st.none() | st.floats(), st.none() | st.floats()), min_size=1, max_size=20), st.floats())
def test_double_division_is_exact_and_fails_at_zero_only(
    rows: list[tuple[float | None, float | None]], constant: float
) -> None:
    double = pl.Float64()
    frame = pl.DataFrame(rows, schema={"a": double, "b": double}, orient="row")
    for right in (Column("b", double), Literal(constant, double)):
        for op, model in (("/", lambda a, b: a / b), ("%", math.fmod)):
            made = compile_kernel(resolve(op, [Column("a", double), right]))
            failed = pl.any_horizontal(pl.lit(False), *(f.condition for f in made.failures))
            got = frame.with_columns(value=made.value, failed=failed)
            for a, b, value, fails in got.iter_rows():
                b = b if isinstance(right, Column) else constant
                assert fails == (a is not None and b == 0)
                if a is None or b is None:
                    assert value is None
                elif not fails:
                    try:
                        wanted = model(a, b)
                    except (OverflowError, ValueError):
                        wanted = math.nan
                    assert value == wanted or (math.isnan(value) and math.isnan(wanted)) or math.isinf(value)
