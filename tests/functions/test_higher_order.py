"""Lambdas, array sets and formats, held against Python's own; and what Spark hasn't, against values from its definition."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream import Session
from jupyter_stream.functions import compile_kernel, only_here, to_spark_sql
from tests.functions.cases import f, lambdas, lit, only_in_the_kernel
from tests.functions.edge_rows import frame
from tests.tiers import examples

ITEMS = st.lists(st.one_of(st.none(), st.integers(-5, 5)), max_size=5)
ROWS = st.lists(st.tuples(st.one_of(st.none(), ITEMS), st.integers(-3, 3)), min_size=1, max_size=8)
QUERY = """
CREATE TABLE t (xs ARRAY<BIGINT>, n BIGINT) SOURCE 'frame://rows';
SELECT transform(xs, (x, i) -> x * n + i) AS a, filter(xs, x -> x > n) AS b, exists(xs, x -> x > n) AS c,
       forall(xs, x -> x > n) AS d, aggregate(xs, n, (s, x) -> s + coalesce(x, 0)) AS e,
       array_except(xs, array(n, 1)) AS g, array_intersect(xs, array(n, 1)) AS h, array_union(xs, array(n, 1)) AS k,
       xs[2:3] AS s FROM t
"""


def some(found: list[bool | None], wanted: bool) -> bool | None:
    """SQL's ANY, or with false ALL turned round."""
    if wanted in found:
        return wanted
    return None if None in found else not wanted


def once(items: list[Any]) -> list[Any]:
    return list(dict.fromkeys(items))


def expected(xs: list[int | None] | None, n: int) -> tuple[Any, ...]:
    if xs is None:
        return (None,) * 9
    above = [None if x is None else x > n for x in xs]
    return (
        [None if x is None else x * n + i for i, x in enumerate(xs)],
        [x for x in xs if x is not None and x > n],
        some(above, True),
        some(above, False),
        n + sum(x or 0 for x in xs),
        [x for x in once(xs) if x not in (n, 1)],
        [x for x in once(xs) if x in (n, 1)],
        once([*xs, n, 1]),
        xs[1:3],
    )


@given(ROWS)
@settings(max_examples=examples(15), deadline=None)
def test_lambdas_and_array_sets_are_those_of_python(rows: list[tuple[Any, int]]) -> None:
    schema = {"xs": pl.List(pl.Int64), "n": pl.Int64}
    with Session({"rows": pl.DataFrame(rows, schema=schema, orient="row")}) as session:
        query: Any = session.execute(QUERY)[-1]
        assert query.wait(200) and query.status == "finished", query.snapshot().error
        assert query.to_polars().rows() == [expected(xs, n) for xs, n in rows]


@pytest.mark.parametrize(
    ("form", "value", "shown"),
    [
        ("%.2f", 0.125, "0.13"), ("%.0f", 2.5, "3"), ("%08.2f", -3.14159, "-0003.14"), ("%+,.1f", 1234567.89, "+1,234,567.9"),
        ("%e", 0.000123456, "1.234560e-04"), ("%.3E", 9.9996e7, "1.000E+08"), ("%(d", -5, "(5)"), ("%x", -1, "ffffffff"),
        ("%5s|", "ab", "   ab|"), ("%-5S|", "ab", "AB   |"), ("%.1s", "ab", "a"), ("%f", math.inf, "Infinity"),
        ("%d", None, "null"),
    ],
)  # fmt: skip
def test_formats_are_those_of_java(form: str, value: object, shown: str) -> None:
    argument = f("abs", f("nullif", 1, 1)) if value is None else lit(value)
    assert pl.select(compile_kernel(f("format_string", form, argument)).value).item() == shown


def test_what_spark_has_not_is_told_and_computed_here() -> None:
    for case in only_in_the_kernel():
        made = compile_kernel(case)
        assert only_here(case)
        assert frame().select(made.value.alias("v")).height == frame().height
    assert not any(map(only_here, lambdas()))
    values = {"gamma": (5, 24.0), "lgamma": (3, math.log(2))}
    for name, (argument, value) in values.items():
        assert pl.select(compile_kernel(f(name, argument)).value).item() == pytest.approx(value)
    assert pl.select(compile_kernel(f("binom", 60, 30)).value).item() == math.comb(60, 30)
    assert pl.select(compile_kernel(f("jaro_similarity", "martha", "marhta")).value).item() == pytest.approx(17 / 18)


def test_a_lambda_on_spark_names_what_is_around_it() -> None:
    sql = to_spark_sql(lambdas()[2])
    assert "-> concat" in sql and "`u`" in sql and "around" not in sql
