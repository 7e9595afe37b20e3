"""Expressions drawn at random, functions within functions: the same value on both engines, row by row, and the same rows fail.

tests/functions holds every function alone, on the same awkward rows; here they are put together, hundreds in one job of Spark's.
ORACLE_EXAMPLES=n draws n times as many.
"""

from __future__ import annotations

import os
from typing import Any

import polars as pl
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.functions import Call, Column, Expr, Literal, to_spark_sql
from jupyter_stream.functions.expression import columns, substitute, walk
from tests.functions.cases import all_cases
from tests.functions.test_same_as_spark import FAILURES, LAST_BIT, ROWS, differences, kernel, physical, search
from tests.tiers import slow

AT_ONCE = 150
"""Expressions of one job: Spark compiles none of them, and looks through all."""
ON_THE_DRIVER = 40
"""Expressions of which a row that fails here is tried on Spark."""
LARGEST = 24
CASES = [c for c in all_cases() if not isinstance(c, Literal)]
EXACT = [c for c in CASES if not any(isinstance(e, Call) and e.function in LAST_BIT for e in walk(c))]
"""What may stand inside: a difference in the last bit, which Java's mathematical library may make, grows outside."""


def _size(expr: Expr) -> int:
    return sum(1 for _ in walk(expr))


@st.composite
def expressions(draw: st.DrawFn) -> Expr:
    """A case of the function table, with others of the same type in the place of its columns, twice over."""
    made = draw(st.sampled_from(CASES))
    for _ in range(2):
        places = sorted({e for e in walk(made) if isinstance(e, Column)}, key=lambda c: c.name)
        grafts: dict[str, Expr] = {}
        for place in places:
            fitting = [c for c in EXACT if c.dtype == place.dtype]
            if fitting and draw(st.booleans()):
                grafts[place.name] = draw(st.sampled_from(fitting))
        larger = substitute(made, grafts)
        if _size(larger) <= LARGEST:
            made = larger
    return made


@slow
@settings(
    max_examples=int(os.environ.get("ORACLE_EXAMPLES", "1")),
    phases=[Phase.generate],
    deadline=None,
    derandomize="ORACLE_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
@given(drawn=st.lists(expressions(), min_size=AT_ONCE, max_size=AT_ONCE, unique=True))
def test_drawn_expressions_are_those_of_spark(interpreting: Any, drawn: list[Expr]) -> None:
    report = different(interpreting, drawn)
    report.sort(key=lambda r: _size(r[0]))
    assert not report, f"{len(report)} of {len(drawn)}\n" + "\n".join(f"{to_spark_sql(e)}: {r}" for e, r in report[:20])


def different(interpreting: Any, drawn: list[Expr]) -> list[tuple[Expr, str]]:
    """What differs between the engines, and how."""
    ours = kernel(drawn)
    values, errors = search(interpreting, ours, drawn, list(range(len(drawn))))
    report = [(drawn[i], f"Spark fails where the kernel doesn't: {e}") for i, e in errors.items()]
    for i, theirs in values.items():
        found = differences(
            drawn[i], physical(ours.get_column(f"value{i}")), ours.get_column(f"failed{i}"), physical(theirs)
        )
        if found and not _float_as_text(drawn[i]):
            report.append((drawn[i], f"{len(found)} rows, such as " + "; ".join(found[:2])))
    return report + _not_failing(interpreting, ours, drawn)


def _float_as_text(case: Expr) -> bool:
    """Whether a FLOAT becomes text: Java 17 writes more digits of some than tell them apart."""
    casts = [e for e in walk(case) if isinstance(e, Call) and e.function in ("cast", "try_cast")]
    return any(e.dtype == pl.String() and e.args[0].dtype == pl.Float32() for e in casts)


def _not_failing(spark: Any, ours: pl.DataFrame, drawn: list[Expr]) -> list[tuple[Expr, str]]:
    """Of some expressions that fail on a row here: those that don't on Spark."""
    report: list[tuple[Expr, str]] = []
    tried = 0
    for i, case in enumerate(drawn):
        read = columns(case)
        # Spark takes what is added to a literal NULL for NULL without a look
        if any(isinstance(e, Literal) and e.value is None for e in walk(case)):
            continue
        called = {e.function for e in walk(case) if isinstance(e, Call)}
        # NULL of a function, and so no look either; seconds beyond an INT wrap around on Spark
        if any(name.startswith("try_") for name in called) or "make_timestamp" in called:
            continue
        whole = ROWS.select(pl.all_horizontal(pl.lit(True), *(pl.col(c).is_not_null() for c in read))).to_series()
        rows = (ours.get_column(f"failed{i}") & whole).arg_true().to_list()
        if not rows or tried == ON_THE_DRIVER:
            continue
        tried += 1
        row = rows[i % len(rows)]
        # as columns of a row: of literals, Spark's optimizer leaves out what an AND doesn't need, wherever it stands
        given = ROWS[row : row + 1].with_columns(pl.col(TIMESTAMP).dt.replace_time_zone("UTC"))
        sql = to_spark_sql(case)
        try:
            got = spark.createDataFrame(given.to_arrow()).selectExpr(f"CAST({sql} AS STRING)").collect()[0][0]
            report.append((case, f"fails here, not on Spark: {sql} is {got!r} of {given.select(read).to_dicts()[0]}"))
        except Exception as error:
            if not any(code in str(error) for code in FAILURES):
                report.append((case, f"{sql}: {str(error)[:200]}"))
    return report
