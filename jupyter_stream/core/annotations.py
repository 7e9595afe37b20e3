"""Types as people write them in Python: annotations, Python's and NumPy's types, Polars types, SQL names."""

from __future__ import annotations

import datetime as dt
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP, sql_type

_PLAIN: Final[Mapping[object, pl.DataType]] = {
    int: pl.Int64(), float: pl.Float64(), str: pl.String(), bool: pl.Boolean(), bytes: pl.Binary(),
    dt.datetime: TIMESTAMP, dt.date: pl.Date(), dt.timedelta: INTERVAL,
    np.bool_: pl.Boolean(), np.int8: pl.Int8(), np.int16: pl.Int16(), np.int32: pl.Int32(), np.int64: pl.Int64(),
    np.float32: pl.Float32(), np.float64: pl.Float64(), np.str_: pl.String(), np.datetime64: TIMESTAMP,
    np.timedelta64: INTERVAL,
}  # fmt: skip


def meant(wanted: object) -> pl.DataType | None:
    """The type somebody means; None where it says nothing about that.

    Raises:
        TypeError: a text that is no SQL type, or a list or struct of what is no type.
    """
    if wanted is None or wanted is type(None) or wanted is Any:
        return None
    if isinstance(wanted, pl.DataType):
        return wanted
    if isinstance(wanted, type) and issubclass(wanted, pl.DataType):
        return wanted()
    if isinstance(wanted, str):
        found = sql_type(wanted)
        if found is None:
            raise TypeError(f"there is no SQL type called {wanted}")
        return found
    if isinstance(wanted, Mapping):
        return pl.Struct([pl.Field(str(n), _known(t)) for n, t in wanted.items()])
    if isinstance(wanted, type) and wanted in _PLAIN:
        return _PLAIN[wanted]
    arguments = typing.get_args(wanted)
    if typing.get_origin(wanted) is list and len(arguments) == 1:
        return pl.List(_known(arguments[0]))
    if is_array(wanted) and len(arguments) == 2:
        return meant(next(iter(typing.get_args(arguments[1])), None))
    if typing.get_origin(wanted) in (types.UnionType, typing.Union):
        kept = [a for a in arguments if a is not type(None)]
        return meant(kept[0]) if len(kept) == 1 else None
    return None


def is_array(wanted: object) -> bool:
    """Whether an annotation says NumPy's array, such as `np.ndarray` or `NDArray[np.float64]`."""
    return wanted is np.ndarray or typing.get_origin(wanted) is np.ndarray


def admits_null(wanted: object) -> bool:
    """Whether an annotation admits None, as `int | None` does."""
    return typing.get_origin(wanted) in (types.UnionType, typing.Union) and type(None) in typing.get_args(wanted)


def _known(wanted: object) -> pl.DataType:
    found = meant(wanted)
    if found is None:
        raise TypeError(f"{wanted!r} is no type")
    return found


def hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function; none where they name what is known only where it was written."""
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError):
        return {}


_DAY: Final = dt.datetime(2024, 1, 1)
_SAMPLES: Final[Mapping[type, tuple[Any, Any]]] = {
    pl.Boolean: (True, False),
    pl.String: ("a", "b"),
    pl.Binary: (b"a", b"b"),
    pl.Float32: (1.5, 2.25),
    pl.Float64: (1.5, 2.25),
    pl.Datetime: (_DAY, _DAY + dt.timedelta(seconds=1)),
    pl.Date: (_DAY.date(), _DAY.date() + dt.timedelta(days=1)),
    pl.Duration: (dt.timedelta(seconds=1), dt.timedelta(seconds=2)),
}


def sample(dtype: pl.DataType) -> tuple[Any, Any]:
    """Two values of a type, to try on them what a function gives whose annotations don't say."""
    return _SAMPLES.get(type(dtype), (1, 2))


def found_type(values: Sequence[Any]) -> pl.DataType:
    """The type of what was tried gave; DOUBLE where that says nothing. Raises a `PolarsError` or `TypeError` for no values."""
    found = pl.Series(values, strict=False).dtype
    if isinstance(found, pl.Datetime):
        return TIMESTAMP
    return INTERVAL if isinstance(found, pl.Duration) else pl.Float64() if isinstance(found, pl.Null) else found


__all__ = ["admits_null", "found_type", "hints", "is_array", "meant", "sample"]
