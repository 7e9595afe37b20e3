"""Types and their coercion by Spark 4's ANSI rules: what may be cast, implicitly or by CAST. Not the casting itself."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import polars as pl

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP, type_name

BOOLEAN: Final = pl.Boolean()
TINYINT: Final = pl.Int8()
SMALLINT: Final = pl.Int16()
INT: Final = pl.Int32()
BIGINT: Final = pl.Int64()
FLOAT: Final = pl.Float32()
DOUBLE: Final = pl.Float64()
STRING: Final = pl.String()
BINARY: Final = pl.Binary()
DATE: Final = pl.Date()
VOID: Final = pl.Null()

INTEGRAL: Final = (TINYINT, SMALLINT, INT, BIGINT)
FRACTIONAL: Final = (FLOAT, DOUBLE)
NUMERIC: Final = (*INTEGRAL, *FRACTIONAL)
ATOMIC: Final = (BOOLEAN, *NUMERIC, STRING, BINARY, DATE, TIMESTAMP, INTERVAL)

MOST_DIGITS: Final = 38
"""Digits a DECIMAL may have."""

RANGES: Final[dict[pl.DataType, tuple[int, int]]] = {
    t: (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for t, bits in zip(INTEGRAL, (8, 16, 32, 64), strict=True)
}
"""Least and greatest value of each integer type."""

_TYPES: Final = 1_000
"""Types of which what is asked again and again is kept: to compare two takes Polars half a microsecond."""

_FOREIGN: Final = (
    (pl.UInt8, SMALLINT),
    (pl.UInt16, INT),
    (pl.UInt32, BIGINT),
    (pl.UInt64, BIGINT),
    (pl.Decimal, DOUBLE),
    (pl.Categorical, STRING),
    (pl.Enum, STRING),
    (pl.Datetime, TIMESTAMP),
    (pl.Duration, INTERVAL),
)


@lru_cache(_TYPES)
def admitted(dtype: pl.DataType) -> pl.DataType:
    """The type expressions compute with, for a column of any type a frame may have.

    Unsigned integers get the next wider signed type, decimals DOUBLE (so does the literal 1.5; where they are only compared or
    chosen among they stay what they are), categories STRING, times of another unit or zone TIMESTAMP.
    """
    if dtype in (TIMESTAMP, INTERVAL):
        return dtype
    for foreign, own in _FOREIGN:
        if isinstance(dtype, foreign):
            return own
    return dtype


@lru_cache(_TYPES)
def is_integral(dtype: pl.DataType) -> bool:
    """Whether it is TINYINT, SMALLINT, INT or BIGINT."""
    return dtype in INTEGRAL


@lru_cache(_TYPES)
def is_numeric(dtype: pl.DataType) -> bool:
    """Whether it is an integer, FLOAT or DOUBLE."""
    return dtype in NUMERIC


def common_type(types: Iterable[pl.DataType]) -> pl.DataType | None:
    """The type that values of all these types are brought to, None if there is none.

    Numbers widen (an integer with a FLOAT gives DOUBLE, a DECIMAL with an integer or a DECIMAL the DECIMAL that holds both, or
    DOUBLE where it had more than 38 digits, and with a FLOAT or DOUBLE DOUBLE); a string becomes what it meets: BIGINT with an
    integer, DOUBLE with a fraction, else the other type; a date with a timestamp gives TIMESTAMP; NULL gives way to anything.
    """
    # Spark brings strings in last, so that ('1', 1, 1.5) is DOUBLE whatever the order.
    ordered = sorted(dict.fromkeys(types), key=lambda t: t == STRING)
    found: pl.DataType | None = VOID
    for dtype in ordered:
        found = _pair(found, dtype) if found is not None else None
    return found


def _pair(a: pl.DataType, b: pl.DataType) -> pl.DataType | None:
    if a == b or b == VOID:
        return a
    if a == VOID:
        return b
    if isinstance(a, pl.Decimal) or isinstance(b, pl.Decimal):
        return _pair_of_decimals(a, b)
    if is_numeric(a) and is_numeric(b):
        wide = NUMERIC[max(NUMERIC.index(a), NUMERIC.index(b))]
        return DOUBLE if wide == FLOAT else wide
    if STRING in (a, b):
        other = b if a == STRING else a
        if is_integral(other):
            return BIGINT
        if is_numeric(other):
            return DOUBLE
        return other if other in (BOOLEAN, BINARY, DATE, TIMESTAMP) else None
    if {str(a), str(b)} == {str(DATE), str(TIMESTAMP)}:
        return TIMESTAMP
    if isinstance(a, pl.List) and isinstance(b, pl.List):
        inner = _pair(instance(a.inner), instance(b.inner))
        return None if inner is None else pl.List(inner)
    return None


_DIGITS: Final[dict[pl.DataType, int]] = dict(zip(INTEGRAL, (3, 5, 10, 20), strict=True))
"""Digits of each integer type, as Spark counts them."""


def _pair_of_decimals(a: pl.DataType, b: pl.DataType) -> pl.DataType | None:
    if any(x in (STRING, *FRACTIONAL) for x in (a, b)):
        return DOUBLE
    both = [as_decimal(x) for x in (a, b)]
    one, other = both
    if one is None or other is None:
        return None
    scale = max(one.scale, other.scale)
    digits = scale + max(one.precision - one.scale, other.precision - other.scale)
    return pl.Decimal(digits, scale) if digits <= MOST_DIGITS else DOUBLE


def as_decimal(dtype: pl.DataType) -> pl.Decimal | None:
    """The DECIMAL that holds every value of the type, None if there is none."""
    if isinstance(dtype, pl.Decimal):
        return dtype
    digits = _DIGITS.get(dtype)
    return None if digits is None else pl.Decimal(digits, 0)


def instance(dtype: object) -> pl.DataType:
    """A data type given as a class or as an instance, as an instance."""
    made = dtype() if isinstance(dtype, type) else dtype
    assert isinstance(made, pl.DataType)
    return made


def spark_name(dtype: pl.DataType) -> str:
    """The type in Spark's SQL."""
    if dtype == INTERVAL:
        return "INTERVAL DAY TO SECOND"
    if isinstance(dtype, pl.List):
        return f"ARRAY<{spark_name(instance(dtype.inner))}>"
    return type_name(dtype)


def implicitly(source: pl.DataType, target: pl.DataType) -> bool:
    """Whether an argument of type `source` may be given where `target` is wanted.

    Wider than Spark in one place: an integer may be given where a narrower one is wanted (checked row by row), since
    integers of a data frame are BIGINT whatever they hold.
    """
    if source in (target, VOID):
        return True
    if source == STRING:
        return target in (BOOLEAN, *NUMERIC, DATE, TIMESTAMP, BINARY)
    if target == STRING:
        return source in ATOMIC
    if is_integral(source):
        return is_numeric(target)
    if source == FLOAT:
        return target == DOUBLE
    return (source == DATE and target == TIMESTAMP) or (source == TIMESTAMP and target == DATE)


def castable(source: pl.DataType, target: pl.DataType) -> bool:
    """Whether CAST from one to the other is allowed at all (rows may still fail)."""
    if source in (target, VOID):
        return True
    if isinstance(source, pl.Decimal) or isinstance(target, pl.Decimal):  # as a DOUBLE
        one, other = (DOUBLE if isinstance(t, pl.Decimal) else t for t in (source, target))
        return castable(one, other)
    if source == STRING:
        return target in ATOMIC and target != INTERVAL
    if target == STRING:
        return source in ATOMIC
    if is_numeric(source):
        return is_numeric(target) or target in (BOOLEAN, TIMESTAMP)
    if source == BOOLEAN:
        return is_numeric(target)
    if source == DATE:
        return target == TIMESTAMP
    if source == TIMESTAMP:
        return target == DATE or is_numeric(target)
    if isinstance(source, pl.List) and isinstance(target, pl.List):
        return instance(source.inner) == VOID
    return False
