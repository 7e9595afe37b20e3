"""Values from the notebook: `:name` and `{{ expression }}`. They become typed constants, never text."""

from __future__ import annotations

import datetime as dt
import decimal
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
import polars as pl

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP
from jupyter_stream.errors import StreamError
from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.source_text import SourceText, Span

Parameters: TypeAlias = Mapping[str, object] | Callable[[str], object] | None

HALVES = re.compile("[\ud800-\udfff]")
"""Halves of characters, which Python's texts can hold and UTF-8 can't."""
_INT32 = range(-(2**31), 2**31)
_INT64 = range(-(2**63), 2**63)


def look_up(expression: str, parameters: Parameters, source: SourceText, span: Span) -> object:
    """The Python value of a parameter.

    Args:
        expression: the name after `:`, or the text between the braces.
        parameters: values by name, or a function that gives the value of an expression.
        source: the cell, for errors.
        span: where the parameter stands.

    Raises:
        QueryError: there is no such value, or working it out failed.
    """
    if parameters is None:
        raise source.error(
            f"there is no value for {expression}", span, "Pass it: execute(text, parameters={...}), or write a literal."
        )
    if not callable(parameters):
        if expression in parameters:
            return parameters[expression]
        hint = did_you_mean(expression, parameters, "known parameters")
        raise source.error(f"there is no parameter called {expression}", span, hint)
    try:
        return parameters(expression)
    except StreamError:
        raise
    except NameError as error:
        known = getattr(parameters, "names", ())
        name = error.name or expression
        raise source.error(
            f"the notebook has no variable called {name}",
            span,
            did_you_mean(name, known) or f"Run a cell that sets {name} first.",
        ) from None
    except LookupError:
        known = getattr(parameters, "names", ())
        raise source.error(f"there is no value for {expression}", span, did_you_mean(expression, known)) from None
    except Exception as error:
        raise source.error(f"{expression} failed: {type(error).__name__}: {error}", span) from None


def constant(value: object, source: SourceText, span: Span) -> tuple[object, pl.DataType]:
    """The value as Polars takes it, with its SQL type: text STRING, whole numbers INT or BIGINT, fractions DOUBLE,
    times TIMESTAMP (UTC), DATE or INTERVAL, None NULL.

    Raises:
        QueryError: the value is of a kind SQL has no literal for, or too big.
    """
    if isinstance(value, np.generic):
        value = _from_numpy(value)
    if hasattr(value, "to_pydatetime"):  # pandas.Timestamp, which is a datetime of finer grain
        value = None if value != value else value.to_pydatetime(warn=False)
    elif hasattr(value, "to_pytimedelta"):
        value = value.to_pytimedelta()
    if value is None or type(value).__name__ in ("NaTType", "NAType"):
        return None, pl.Null()
    if isinstance(value, bool):
        return value, pl.Boolean()
    if isinstance(value, int):
        if value not in _INT64:
            digits = len(str(abs(value)))
            if digits > 38:
                raise source.error(
                    "this whole number has more than 38 digits, the most of a DECIMAL",
                    span,
                    "Write it as 1e40, a DOUBLE.",
                )
            return decimal.Decimal(int(value)), pl.Decimal(digits, 0)
        return int(value), pl.Int32() if value in _INT32 else pl.Int64()
    if isinstance(value, float):
        return float(value), pl.Float64()
    if isinstance(value, decimal.Decimal):
        return float(value), pl.Float64()
    if isinstance(value, str):
        half = HALVES.search(value)
        if half is not None:
            raise source.error(f"this text holds U+{ord(half[0]):04X}, which is half of a character", span)
        return str(value), pl.String()
    if isinstance(value, bytes):
        return value, pl.Binary()
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value, TIMESTAMP
    if isinstance(value, dt.date):
        return value, pl.Date()
    if isinstance(value, dt.timedelta):
        return value, INTERVAL
    raise source.error(
        f"a value of type {type(value).__name__} can't be used in a query",
        span,
        "A parameter is a text, a number, a Boolean, a date, a time, a timedelta or None.",
    )


def items_of(value: object) -> list[object]:
    """The values a parameter of IN stands for: those of a list, a tuple, a set, a range, an array or a column of a frame."""
    if isinstance(value, list | tuple | set | frozenset | range):
        return list(value)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return list(value)
    if isinstance(value, pl.Series) or hasattr(value, "to_list"):  # of pandas' too
        return list(value.to_list())
    return [value]


def _from_numpy(value: np.generic) -> object:
    if isinstance(value, np.datetime64):
        finer = value if np.datetime_data(value.dtype)[0] == "D" else value.astype("datetime64[us]")
        return None if np.isnat(value) else finer.item()
    if isinstance(value, np.timedelta64):
        return None if np.isnat(value) else value.astype("timedelta64[us]").item()
    plain: object = value.item()
    return plain
