"""Functions of a user's own on Spark: Arrow UDFs that call what the kernel calls.

Rows one fails on don't get there: they were found before (`judge`), and went to errors. A row without a value is NULL here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import polars as pl

from jupyter_stream.core.garbage import spare_the_loaded
from jupyter_stream.functions import Call, Expr, OwnName
from jupyter_stream.functions.expression import walk
from jupyter_stream.functions.python import PythonFunction
from jupyter_stream.functions.types import spark_name


def own_calls(expressions: Iterable[Expr]) -> list[Call]:
    """Calls of functions of the user's own in Python."""
    parts = (part for e in expressions for part in walk(e))
    return [part for part in parts if isinstance(part, Call) and isinstance(part.function, OwnName)]


def register(frame: Any, expressions: Iterable[Expr]) -> None:
    """Make the functions that expressions call known to the session of a DataFrame.

    Args:
        frame: the DataFrame.
        expressions: those of a query.
    """
    for call in own_calls(expressions):
        assert isinstance(call.function, OwnName)
        own = call.function.owner
        assert isinstance(own, PythonFunction)
        from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

        made = arrow_udf(
            _over_arrow(own, [a.dtype for a in call.args], call.dtype), spark_name(call.dtype), ArrowUDFType.SCALAR
        )
        frame.sparkSession.udf.register(own.sql_name(call.dtype), made)


def _over_arrow(own: PythonFunction, types: list[pl.DataType], dtype: pl.DataType) -> Callable[..., Any]:
    """The function on Arrow's arrays."""

    def call(*arrays: Any) -> Any:
        spare_the_loaded()
        columns = [pl.Series(pl.from_arrow(a)).cast(t) for a, t in zip(arrays, types, strict=True)]
        found, _ = own.over(columns, dtype)
        return found.to_arrow(compat_level=pl.CompatLevel.oldest())

    return call


__all__ = ["register"]
