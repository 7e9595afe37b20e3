"""Scalar functions: one table, each row its SQL name, its kernel expression, its Spark SQL."""

from jupyter_stream.functions.casts import cast
from jupyter_stream.functions.expression import Call, Column, Expr, Literal
from jupyter_stream.functions.function import BadArguments, Compiled, Failure, UnknownFunction
from jupyter_stream.functions.kernel import compile_kernel
from jupyter_stream.functions.registry import Description, describe, names, resolve
from jupyter_stream.functions.spark import to_spark_sql
from jupyter_stream.functions.types import common_type

__all__ = [
    "BadArguments",
    "Call",
    "Column",
    "Compiled",
    "Description",
    "Expr",
    "Failure",
    "Literal",
    "UnknownFunction",
    "cast",
    "common_type",
    "compile_kernel",
    "describe",
    "names",
    "resolve",
    "to_spark_sql",
]
