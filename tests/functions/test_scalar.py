"""Expressions row by row: the same values, and the same failures, as the kernel has for columns."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

from jupyter_stream.functions import Column, compile_kernel, to_spark_sql
from jupyter_stream.functions.expression import columns
from jupyter_stream.functions.scalar import RowError, compile_scalar
from jupyter_stream.functions.steps import with_steps
from tests.functions.cases import choices, comparisons, operators
from tests.functions.edge_rows import frame
from tests.tiers import thinned

ROWS = frame(60)
CASES = [*operators(), *comparisons(), *choices()]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or a == b
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("part", thinned(range(4), 4))
def test_values_and_failures_are_those_of_the_kernel(part: int) -> None:
    wrong = []
    for case in CASES[part::16]:
        compiled = compile_kernel(case)
        names = sorted(columns(case))
        run = compile_scalar(case, {name: i for i, name in enumerate(names)})
        failing = [pl.lit(False), *(f.condition for f in compiled.failures)]
        found = with_steps(ROWS, compiled.steps).with_columns(
            compiled.value.alias("$value"), pl.any_horizontal(failing).alias("$failed")
        )
        if isinstance(case.dtype, pl.Datetime | pl.Date):  # Python has the years 1 to 9999 only
            found = found.filter(pl.col("$value").dt.year().is_between(1, 9999) | pl.col("$failed"))
            found = found.with_columns(pl.when(~pl.col("$failed")).then(pl.col("$value")).alias("$value"))
        for *values, expected, failed in found.select(*names, "$value", "$failed").rows():
            try:
                value, raised = run(values), False
            except RowError as error:
                if "beyond the years" in str(error):
                    continue  # a time in between is beyond Python's
                value, raised = None, True
            if raised != failed or not (failed or same(value, expected)):
                wrong.append((to_spark_sql(case), values, value, expected, raised, failed))
    assert wrong == []


def test_a_column_may_be_a_function_of_the_environment() -> None:
    run = compile_scalar(Column("a", pl.Int64()), {"a": lambda env: env[0] * 2})
    assert run([21]) == 42
