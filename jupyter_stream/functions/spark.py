"""Expressions to Spark SQL. Equal values need ANSI mode and the session's time zone UTC."""

from __future__ import annotations

import datetime as dt
import math

import polars as pl

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP
from jupyter_stream.functions import registry
from jupyter_stream.functions.expression import Call, Column, Expr, LambdaBody, Literal, fold, walk
from jupyter_stream.functions.kernel import literal
from jupyter_stream.functions.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    spark_name,
)

_SUFFIX = ((TINYINT, "Y"), (SMALLINT, "S"), (INT, ""), (BIGINT, "L"))


def to_spark_sql(expr: Expr) -> str:
    """The expression in Spark's SQL, for Spark 4 with `spark.sql.ansi.enabled` and `spark.sql.session.timeZone` UTC."""
    return fold(expr, _written)


def only_here(expr: Expr) -> frozenset[str]:
    """The functions in it for which Spark has no SQL that gives the same."""
    found = set[str]()
    for part in walk(expr):
        if isinstance(part, Literal) and isinstance(part.value, LambdaBody):
            found |= only_here(part.value.body)
        if isinstance(part, Call) and registry.find(part.function).only_here(part):
            found.add(part.function)
    return frozenset(found)


def _written(expr: Expr, args: tuple[str, ...]) -> str:
    if isinstance(expr, Column):
        return "`" + expr.name.replace("`", "``") + "`"
    if isinstance(expr, Literal):
        return _literal(expr)
    form = registry.find(expr.function).spark
    if form is None:
        raise ValueError(f"{expr.function} is written in terms of other functions: make it with resolve()")
    return form.format(*args) if isinstance(form, str) else form(expr, args)


def _literal(expr: Literal) -> str:
    value, dtype = expr.value, expr.dtype
    if isinstance(value, LambdaBody):
        names = ", ".join(f"`{p.name}`" for p in value.parameters)
        return f"{names if len(value.parameters) == 1 else f'({names})'} -> {to_spark_sql(value.body)}"
    if value is None:
        return f"CAST(NULL AS {spark_name(dtype)})"
    if dtype == BOOLEAN:
        return "true" if value else "false"
    for integer, suffix in _SUFFIX:
        if dtype == integer:
            return f"{value}{suffix}" if isinstance(value, int) and value >= 0 else f"({value}{suffix})"
    if isinstance(value, float):
        name = spark_name(dtype)
        return (
            f"CAST('{value!r}' AS {name})" if math.isfinite(value) and dtype != FLOAT else f"CAST('{value}' AS {name})"
        )
    if isinstance(dtype, pl.Decimal):
        return f"CAST('{value}' AS {spark_name(dtype)})"
    if dtype == STRING:
        return quoted(str(value))
    if dtype == BINARY and isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if dtype in (TIMESTAMP, INTERVAL, DATE):
        return _time(pl.select(literal(expr).cast(INT if dtype == DATE else BIGINT)).item(), dtype)
    raise ValueError(f"no literal of type {spark_name(dtype)} can be written for Spark")


def _time(number: int, dtype: pl.DataType) -> str:
    if dtype == DATE:
        return f"date_from_unix_date({number})"
    if dtype == TIMESTAMP:
        return f"timestamp_micros({number}L)"
    sign, size = "-" if number < 0 else "", abs(number)
    clock = dt.timedelta(microseconds=size)
    hours, rest = divmod(clock.seconds, 3600)
    text = f"{sign}{clock.days} {hours:02}:{rest // 60:02}:{rest % 60:02}.{clock.microseconds:06}"
    return f"INTERVAL '{text}' DAY TO SECOND"


def quoted(text: str) -> str:
    """A string literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
