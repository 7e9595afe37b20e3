"""Every function gives the same value in the kernel and on Spark, and fails on the same rows, over rows of awkward values."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP
from jupyter_stream.functions import Call, Expr, Literal, clock, compile_kernel, names, to_spark_sql
from jupyter_stream.functions.expression import columns, substitute, walk
from jupyter_stream.functions.steps import with_steps
from tests.functions.cases import all_cases
from tests.functions.edge_rows import frame
from tests.tiers import slow

ROWS = frame()
CASES = all_cases()

LAST_BIT = {"exp", "ln", "log", "log10", "log2", "log1p", "expm1", "pow", "cbrt", "sin", "cos", "tan", "asin", "acos",
    "atan", "atan2", "sinh", "cosh", "tanh",
            "degrees", "radians", "hypot", "cot", "sec", "csc", "coth", "sech", "csch",
            "asinh", "acosh", "atanh", "sind", "cosd", "tand",
            "cotd", "asind", "acosd", "atand", "atan2d"}  # fmt: skip
"""Functions of the platform's mathematical library, which may differ in the last bits from Java's."""


def kernel(cases: list[Expr]) -> pl.DataFrame:
    """For each case its value `v` and whether it failed `f`."""
    made: list[pl.Series] = []
    for i, case in enumerate(cases):
        compiled = compile_kernel(case)
        failed = pl.any_horizontal(*(f.condition for f in compiled.failures)) if compiled.failures else pl.lit(False)
        try:
            made += (
                with_steps(ROWS, compiled.steps)
                .with_columns(compiled.value.alias(f"value{i}"), failed.alias(f"failed{i}"))
                .select(f"value{i}", f"failed{i}")
                .get_columns()
            )
        except BaseException as error:
            raise AssertionError(f"the kernel raises for {to_spark_sql(case)}") from error
    return pl.DataFrame(made)


def in_spark(spark: Any, ours: pl.DataFrame, cases: list[Expr], numbers: list[int]) -> pl.DataFrame:
    """Spark's values of the numbered cases, on the rows that ours doesn't fail on."""
    given = ROWS.hstack(ours.select(f"failed{i}" for i in numbers))
    data = spark.createDataFrame(given.with_columns(pl.col(TIMESTAMP).dt.replace_time_zone("UTC")).to_arrow())
    made = data.selectExpr(*(f"CASE WHEN NOT failed{i} THEN {to_spark_sql(cases[i])} END AS value{i}" for i in numbers))
    return pl.from_arrow(made.toArrow())  # type: ignore[return-value]


def search(
    spark: Any, ours: pl.DataFrame, cases: list[Expr], numbers: list[int]
) -> tuple[dict[int, pl.Series], dict[int, str]]:
    """Spark's values, and the message of each case that it can't compute: found by halving."""
    try:
        made = in_spark(spark, ours, cases, numbers)
        return {i: made.get_column(f"value{i}") for i in numbers}, {}
    except Exception as error:
        if len(numbers) == 1:
            return {}, {numbers[0]: str(error).split("\n")[0][:200]}
    half = len(numbers) // 2
    values, errors = search(spark, ours, cases, numbers[:half])
    more = search(spark, ours, cases, numbers[half:])
    return {**values, **more[0]}, {**errors, **more[1]}


def physical(column: pl.Series) -> pl.Series:
    if isinstance(column.dtype, pl.Datetime):
        return column.cast(pl.Datetime("us")).to_physical()
    if isinstance(column.dtype, pl.Duration):
        return column.cast(pl.Duration("us")).to_physical()
    return column.to_physical() if column.dtype == pl.Date else column


def same(a: Any, b: Any, loose: bool) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-300) if loose else a == b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y, loose) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def differences(case: Expr, ours: pl.Series, failed: pl.Series, theirs: pl.Series) -> list[str]:
    loose = any(isinstance(e, Call) and e.function in LAST_BIT for e in walk(case))
    found = []
    if (len(ours), ours.dtype) != (len(theirs), physical(pl.Series([], dtype=case.dtype)).dtype):
        found.append(f"types: {ours.dtype}, {theirs.dtype}, {case.dtype}")
    for i, (a, f, b) in enumerate(zip(ours.to_list(), failed.to_list(), theirs.to_list(), strict=True)):
        if not f and not same(a, b, loose):
            row = {
                n: ROWS.get_column(n).to_list()[i]
                if ROWS.schema[n] not in (TIMESTAMP, INTERVAL)
                else ROWS.get_column(n).to_physical()[i]
                for n in sorted(columns(case))
            }
            found.append(f"{row}: kernel {a!r}, Spark {b!r}")
    return found


def test_every_function_has_a_case_here() -> None:
    used = {e.function for case in CASES for e in walk(case) if isinstance(e, Call)}
    from tests.functions import cases

    written = Path(cases.__file__).read_text()
    of_the_clock = {f.name for f in clock.FUNCTIONS}  # literals by the time they are bound
    assert [n for n in names() if n not in used | of_the_clock and f'"{n}"' not in written] == []


@slow
def test_values_are_those_of_spark(interpreting: Any) -> None:
    ours = kernel(CASES)
    report = []
    for start in range(0, len(CASES), 120):
        numbers = list(range(start, min(start + 120, len(CASES))))
        values, errors = search(interpreting, ours, CASES, numbers)
        report += [f"{to_spark_sql(CASES[i])}: Spark fails where the kernel doesn't: {e}" for i, e in errors.items()]
        for i, theirs in values.items():
            found = differences(
                CASES[i], physical(ours.get_column(f"value{i}")), ours.get_column(f"failed{i}"), physical(theirs)
            )
            if found:
                report.append(f"{to_spark_sql(CASES[i])}: {len(found)} rows, such as " + "; ".join(found[:4]))
    assert not report, f"{len(report)} of {len(CASES)}\n" + "\n".join(report)


FAILURES = (
    "OVERFLOW", "BY_ZERO", "CAST_INVALID_INPUT", "CANNOT_PARSE", "INVALID", "OUT_OF_BOUNDS", "OUT_OF_RANGE", "overflow",
    "out of range for input", "infinite or NaN", "Illegal sequence boundaries", "MALFORMED_CHARACTER_CODING",
    "does not have enough valid bits", "USER_RAISED", "DUPLICATED_MAP_KEY", "NULL_MAP_KEY",
)  # fmt: skip
"""What Spark calls the failures of rows."""


@slow
def test_rows_that_fail_here_fail_on_spark(interpreting: Any) -> None:
    ours = kernel(CASES)
    seen: Counter[str] = Counter()
    report = []
    for i, case in enumerate(CASES):
        # Spark takes what is added to a literal NULL for NULL without a look, so rows with NULL won't do here.
        whole = ROWS.select(
            pl.all_horizontal(pl.lit(True), *(pl.col(c).is_not_null() for c in columns(case)))
        ).to_series()
        rows = (ours.get_column(f"failed{i}") & whole).arg_true().to_list()
        name = case.function if isinstance(case, Call) else ""
        if not rows or seen[name] == 4:
            continue
        seen[name] += 1
        row = rows[i % len(rows)]
        known: dict[str, Expr] = {c: Literal(ROWS.get_column(c)[row], ROWS.schema[c]) for c in columns(case)}
        sql = to_spark_sql(substitute(case, known))
        try:
            got = interpreting.sql(f"SELECT CAST({sql} AS STRING)").collect()[0][
                0
            ]  # all on the driver: no job is started
            report.append(f"{to_spark_sql(case)}: {sql} is {got!r} on Spark")
        except Exception as error:
            if not any(code in str(error) for code in FAILURES):
                report.append(f"{sql}: {str(error)[:200]}")
    assert len(seen) > 15
    assert not report, f"{len(report)}\n" + "\n".join(report)
