"""Rows of the table as families write them: functions of one DOUBLE, by NumPy, other names for a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from jupyter_stream.functions.binding import takes
from jupyter_stream.functions.elementwise import elementwise
from jupyter_stream.functions.expression import Call
from jupyter_stream.functions.function import Bind, Function, Kernel, Spark, strict
from jupyter_stream.functions.types import DOUBLE


def row(
    signature: str, description: str, example: str, bind: Bind, kernel: Kernel | None = None, spark: Spark | None = None
) -> Function:
    """A function that is called the same on Spark, unless `spark` says otherwise."""
    name = signature.partition("(")[0]
    called: Spark = spark or (lambda call, args: f"{name}({', '.join(args)})")
    return Function(name, signature, description, example, bind, kernel, called if kernel else None)


def double(
    name: str, description: str, example: str, compute: Callable[[pl.Expr], pl.Expr], above: float | None = None
) -> Function:
    """A function of one DOUBLE; NULL at and below `above`."""

    def kernel(call: Call, value: pl.Expr) -> pl.Expr:
        made = compute(value)
        return made if above is None else pl.when(~(value <= above)).then(made)

    bind = takes(name, DOUBLE, result=DOUBLE)
    return Function(name, f"{name}(number) -> DOUBLE", description, example, bind, strict(kernel), name + "({0})")


def by_numpy(dtype: pl.DataType, compute: Callable[..., Any]) -> Kernel:
    """A kernel of a NumPy function of one or two arrays, NULL where an argument is."""
    return strict(lambda call, *values: elementwise(compute, dtype, *values))


def alias(name: str, of: Function) -> Function:
    """The function by another name."""
    signature = of.signature.replace(of.name + "(", name + "(", 1)
    return Function(name, signature, of.description, of.example.replace(of.name + "(", name + "(", 1), of.bind)
