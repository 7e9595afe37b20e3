"""Expressions in Spark's SQL over the rows of a stream there, whose times are shifted.

Spark's watermark begins at 1970 and drops whatever is older. So `$ts` and `$broken` go to Spark shifted by `SHIFT`, which
brings all times people have beyond 1970, and are brought back where anyone reads them.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from jupyter_stream.core.messages import TS
from jupyter_stream.functions import Column, Expr, to_spark_sql
from jupyter_stream.functions.expression import substitute, walk

SHIFT: Final = 2**60
"""Microseconds: 36,533 years."""
TIME: Final = f"`{TS}`"
_TIME_HERE: Final = "$time as it is"


def quoted(name: str) -> str:
    """A column's name in Spark's SQL."""
    return "`" + name.replace("`", "``") + "`"


def micros(time: str) -> str:
    """Microseconds since 1970 of a shifted time."""
    return f"(unix_micros({time}) - {SHIFT}L)"


def instant(time: str) -> str:
    """The time that a shifted one stands for."""
    return f"timestamp_micros({micros(time)})"


def item(expr: Expr, name: str) -> str:
    """A column of a select list."""
    return f"{sql(expr)} AS {quoted(name)}"


def sql(expr: Expr, time: str = TIME) -> str:
    """The expression in Spark's SQL.

    Args:
        expr: the expression.
        time: the SQL of the rows' time, shifted.
    """
    read = next((e for e in walk(expr) if isinstance(e, Column) and e.name == TS), None)
    if read is None:
        return to_spark_sql(expr)
    written = to_spark_sql(substitute(expr, {TS: Column(_TIME_HERE, read.dtype)}))
    return written.replace(quoted(_TIME_HERE), micros(time) if read.dtype == pl.Int64() else instant(time))
