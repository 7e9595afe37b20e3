"""DECIMALs against Python's own: drawn doubles, texts and DECIMALs, rounded half up, and nothing where they don't fit."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.functions import cast, compile_kernel
from jupyter_stream.functions.expression import Column
from jupyter_stream.functions.types import BIGINT, DOUBLE, STRING, castable, common_type
from tests.tiers import slow

WIDE = Context(prec=2000)


def rounded(value: str | Decimal, dtype: pl.Decimal) -> Decimal | None:
    """The number with the type's digits, None if it has more."""
    made = Decimal(value).quantize(Decimal(1).scaleb(-dtype.scale), ROUND_HALF_UP, WIDE)
    return made if abs(made) < 10 ** (dtype.precision - dtype.scale) else None


def made_of(values: list[object], source: pl.DataType, dtype: pl.DataType) -> tuple[list[object], list[bool]]:
    """What CAST makes of a column, and which rows fail."""
    compiled = compile_kernel(cast(Column("v", source), dtype))
    rows = pl.DataFrame({"v": pl.Series(values, dtype=source)})
    failed = pl.any_horizontal(pl.lit(False), *(f.condition for f in compiled.failures))
    found = rows.with_columns(compiled.value.alias("made"), failed.alias("failed"))
    assert found.schema["made"] == dtype
    return found["made"].to_list(), found["failed"].to_list()


@st.composite
def types(draw: st.DrawFn) -> pl.Decimal:
    precision = draw(st.integers(1, 38))
    return pl.Decimal(precision, draw(st.integers(0, precision)))


HALVES = st.builds(lambda n, k: n / 10**k, st.integers(-(10**7), 10**7), st.integers(0, 8))
"""Doubles whose shortest decimal number has few digits: among them many halves of a last digit."""


@given(dtype=types(), values=st.lists(st.floats() | HALVES | st.none(), max_size=30))
def test_doubles_are_rounded_as_they_are_shown(dtype: pl.Decimal, values: list[float | None]) -> None:
    found, failed = made_of(list(values), DOUBLE, dtype)
    finite = [v is not None and math.isfinite(v) for v in values]
    wanted = [rounded(repr(v), dtype) if ok else None for v, ok in zip(values, finite, strict=True)]
    assert found == wanted
    assert failed == [ok and w is None for w, ok in zip(wanted, finite, strict=True)]


@slow
@given(
    dtype=types(),
    texts=st.lists(st.from_regex(r"\A {0,2}[+-]?([0-9]{1,45}(\.[0-9]{0,45})?|\.[0-9]{1,45})([eE][+-]?[0-9]{1,2})?\Z")),
)
def test_texts_of_any_length_are_rounded(dtype: pl.Decimal, texts: list[str]) -> None:
    found, failed = made_of(list(texts), STRING, dtype)
    wanted = [rounded(text.strip(), dtype) for text in texts]
    assert found == wanted and failed == [w is None for w in wanted]


@given(source=types(), dtype=types(), units=st.lists(st.integers(-(10**38) + 1, 10**38 - 1)))
def test_digits_are_added_and_taken_away(source: pl.Decimal, dtype: pl.Decimal, units: list[int]) -> None:
    values = [Decimal(n % 10**source.precision * (1 - 2 * (n < 0))).scaleb(-source.scale, WIDE) for n in units]
    found, failed = made_of(list(values), source, dtype)
    wanted = [rounded(v, dtype) for v in values]
    assert found == wanted and failed == [w is None for w in wanted]
    doubles, _ = made_of(list(values), source, DOUBLE)
    assert doubles == [float(Fraction(v)) for v in values]


@pytest.mark.parametrize(
    "text", ["", ".", "-", "1e", "e1", "1d", "1 2", "0x1", "NaN", "Infinity", "1e99999999999", "\x7f1", "1_0"]
)
def test_what_is_no_number_fails(text: str) -> None:
    assert made_of([text], STRING, pl.Decimal(38, 2)) == ([None], [True])


def test_types_meet() -> None:
    assert common_type([pl.Decimal(10, 2), pl.Decimal(6, 4)]) == pl.Decimal(12, 4)
    assert common_type([pl.Decimal(10, 2), BIGINT]) == pl.Decimal(22, 2)
    assert common_type([pl.Decimal(38, 0), pl.Decimal(38, 38)]) == DOUBLE
    assert common_type([pl.Decimal(10, 2), STRING]) == common_type([DOUBLE, pl.Decimal(10, 2)]) == DOUBLE
    assert common_type([pl.Decimal(10, 2), pl.Date()]) is None
    assert not castable(pl.Date(), pl.Decimal(10, 2)) and not castable(pl.Decimal(10, 2), pl.Date())
