"""Scalar functions: one table, each row its SQL name, its kernel expression, its Spark SQL."""

from jupyter_stream.functions.casts import cast
from jupyter_stream.functions.clock import at_one_time
from jupyter_stream.functions.expression import Call, Column, Expr, Literal
from jupyter_stream.functions.function import BadArguments, Compiled, Failure, UnknownFunction
from jupyter_stream.functions.kernel import checked, compile_kernel
from jupyter_stream.functions.own import OwnFunction, OwnName, calling_own, own_function, own_names
from jupyter_stream.functions.registry import Description, describe, has, names, resolve
from jupyter_stream.functions.spark import only_here, to_spark_sql
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
    "OwnFunction",
    "OwnName",
    "UnknownFunction",
    "at_one_time",
    "calling_own",
    "cast",
    "checked",
    "common_type",
    "compile_kernel",
    "describe",
    "has",
    "names",
    "only_here",
    "own_function",
    "own_names",
    "resolve",
    "to_spark_sql",
]
