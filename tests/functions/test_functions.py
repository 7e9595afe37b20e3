"""Typing, laziness of failures, messages, and what the table promises of each of its rows."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP
from jupyter_stream.functions import (
    BadArguments,
    Call,
    Column,
    Expr,
    Literal,
    UnknownFunction,
    cast,
    common_type,
    compile_kernel,
    describe,
    names,
    resolve,
    to_spark_sql,
)
from jupyter_stream.functions import types as t
from jupyter_stream.functions.expression import columns
from jupyter_stream.functions.function import Compiled
from jupyter_stream.functions.steps import with_steps
from tests.functions.cases import DAY, all_cases, f, lit
from tests.functions.edge_rows import column, frame
from tests.tiers import examples, slow

ZERO = pl.DataFrame({"a": [1, 0, None], "b": [True, False, None]}, schema={"a": t.INT, "b": t.BOOLEAN})
A, B = Column("a", t.INT), Column("b", t.BOOLEAN)
RISKY = resolve("/", [lit(1), A])


def failing(expr: Expr, rows: pl.DataFrame = ZERO) -> list[bool]:
    kernel = compile_kernel(expr)
    conditions = [x.condition for x in kernel.failures]
    made = with_steps(rows, kernel.steps).with_columns(pl.any_horizontal(pl.lit(False), *conditions).alias("failed"))
    assert made["failed"].null_count() == 0
    return made["failed"].to_list()


def test_division_fails_where_the_divisor_is_zero() -> None:
    assert failing(RISKY) == [False, True, False]


@pytest.mark.parametrize(
    "guarded",
    [
        f("case", f("<>", A, 0), RISKY),
        f("if", f("=", A, 0), 0.0, RISKY),
        f("and", f("<>", A, 0), f(">", RISKY, 1)),
        f("or", f("=", A, 0), f(">", RISKY, 1)),
        f("coalesce", 1.0, RISKY),
        f("nvl", f("nullif", A, 5), RISKY),
        f("in", A, 1, 0, f("div", 1, A)),
        f("+", f("nullif", A, 0), f("div", 1, A)),
    ],
    ids=to_spark_sql,
)
def test_only_the_branch_taken_can_fail(guarded: Expr) -> None:
    assert failing(guarded) == [False, False, False]


def test_a_condition_that_fails_fails_before_any_branch() -> None:
    assert failing(f("case", f(">", RISKY, 0), 1, 2)) == [False, True, False]


def test_what_cannot_fail_has_no_masks() -> None:
    x, ts = Column("x", t.DOUBLE), Column("ts", TIMESTAMP)
    for expr in (
        f("*", x, 2),
        f("/", x, 3),
        f("%", A, 7),
        f(">", ts, "2024-01-01"),
        f("upper", Column("s", t.STRING)),
        f("hour", ts),
        f("=", A, 2**40),
    ):
        assert compile_kernel(expr).failures == ()


def test_constants_are_computed_once() -> None:
    made, plain = (compile_kernel(f("+", A, b)) for b in (f("*", 3, f("length", "four")), 12))
    assert made.value.meta.eq(plain.value)
    assert compile_kernel(f("+", A, f("/", 1, 0))).failures[0].reason == "division by zero"


def test_division_by_a_constant_does_not_depend_on_the_batch() -> None:
    made = compile_kernel(f("/", Column("x", t.DOUBLE), 7.0)).value
    rows = pl.DataFrame({"x": [10.0, 10.0]})
    assert (
        rows.select(made).to_series().to_list() == rows.head(1).select(made).to_series().to_list() * 2 == [10 / 7] * 2
    )


@pytest.mark.parametrize(
    ("types", "common"),
    [
        ((t.TINYINT, t.INT), t.INT), ((t.INT, t.BIGINT), t.BIGINT), ((t.INT, t.FLOAT), t.DOUBLE),
        ((t.FLOAT, t.FLOAT), t.FLOAT), ((t.BIGINT, t.DOUBLE), t.DOUBLE),
        ((t.STRING, t.INT), t.BIGINT), ((t.STRING, t.DOUBLE), t.DOUBLE), ((t.STRING, t.DATE), t.DATE),
        ((t.DATE, TIMESTAMP), TIMESTAMP), ((t.VOID, t.STRING), t.STRING),
        ((t.STRING, t.INT, t.DOUBLE), t.DOUBLE), ((t.BOOLEAN, t.INT), None), ((t.DATE, t.INT), None),
        ((INTERVAL, t.STRING), None), ((), t.VOID),
        ((pl.List(t.INT), pl.List(t.BIGINT)), pl.List(t.BIGINT)),
    ],
)  # fmt: skip
def test_common_type(types: tuple[pl.DataType, ...], common: pl.DataType | None) -> None:
    assert common_type(types) == common


def test_arguments_are_cast_to_what_the_function_takes() -> None:
    made = resolve("concat", [Column("s", t.STRING), A])
    assert made == Call("concat", (Column("s", t.STRING), Call("cast", (A,), t.STRING)), t.STRING)


def test_columns_of_foreign_types_are_brought_to_sql_types() -> None:
    rows = pl.DataFrame(
        {"u": [2**32 - 1], "ns": [1_500], "c": ["x"]}, schema={"u": pl.UInt32, "ns": pl.Int64, "c": pl.Categorical}
    )
    rows = rows.with_columns(pl.col("ns").cast(pl.Datetime("ns")))
    u, ns, c = (Column(n, d) for n, d in rows.schema.items())
    made = [resolve("+", [u, lit(1)]), resolve("unix_micros", [ns]), resolve("upper", [c])]
    assert [m.dtype for m in made] == [t.BIGINT, t.BIGINT, t.STRING]
    assert rows.select(compile_kernel(m).value.alias(str(i)) for i, m in enumerate(made)).row(0) == (2**32, 1, "X")


def test_unknown_function_suggests_the_nearest() -> None:
    with pytest.raises(UnknownFunction) as caught:
        resolve("substing", [])
    assert caught.value.suggestion == "substring"


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("upper", [], "upper takes 1 argument, not 0"),
        ("+", [lit(True), lit(1)], "+ can't take BOOLEAN and INT"),
        ("and", [lit(1), lit(True)], "and needs a BOOLEAN, not INT"),
        ("year", [lit(1)], "argument 1 of year must be DATE, not INT"),
        ("=", [lit(True), lit(1)], "= can't take BOOLEAN and INT together"),
        ("regexp_extract", [lit("a"), lit("a"), A], "argument 3 of regexp_extract must be a constant, not a column"),
        ("like", [lit("a"), lit("a\\b")], "in the pattern 'a\\\\b', \\ may stand before _, % and itself only"),
        ("rlike", [lit("a"), lit("(")], "'(' is not a regular expression: unclosed group"),
        (
            "rlike",
            [lit("a"), lit("(?=a)")],
            "the pattern '(?=a)' has look-around, an unknown flag or an atomic group, which is not supported",
        ),
        ("rlike", [lit("a"), lit("(a)\\1")], "the pattern '(a)\\\\1' has \\1, which is not supported"),
        ("rlike", [lit("a"), lit("a*+")], "the pattern 'a*+' has a possessive quantifier, which is not supported"),
        ("regexp_extract", [lit("a"), lit("a"), lit(1)], "the pattern 'a' has 0 groups, not 1"),
        ("div", [lit(1.5), lit(1)], "div divides integers, not DOUBLE; write / for fractions"),
        ("date_trunc", [lit("CENTURY"), lit("2024-01-01")], None),
        ("date_format", [lit("2024-01-01"), lit("yyyy-GG")], None),
        ("get_json_object", [lit("{}"), lit("a.b")], "'a.b' is not a path such as $.name.name[0]"),
        ("unix_timestamp", [], "unix_timestamp() reads the clock, so a replay would differ; give it a timestamp"),
    ],
)
def test_bad_arguments_say_what_is_wrong(name: str, args: list[Expr], message: str | None) -> None:
    with pytest.raises(BadArguments) as caught:
        resolve(name, args)
    assert message is None or caught.value.message == message


def test_a_cast_that_is_never_possible_is_refused() -> None:
    with pytest.raises(BadArguments, match="BOOLEAN can't be cast to DATE"):
        cast(lit(True), t.DATE)


def test_every_function_describes_itself() -> None:
    rows = describe()
    assert {r.name for r in rows} == set(names())
    assert all(r.signature and r.example and r.description.endswith(".") and "\n" not in r.description for r in rows)
    assert len(rows) == len({r.name for r in rows}) >= 80


@slow
def test_every_case_names_its_type_truly() -> None:
    rows = frame(60)
    wrong = []
    for case in all_cases():
        kernel = compile_kernel(case)
        made = with_steps(rows, kernel.steps).with_columns(kernel.value.alias("$value"))
        if made.schema["$value"] != case.dtype:
            wrong.append((to_spark_sql(case), made.schema["$value"], case.dtype))
    assert wrong == []


@slow
def test_any_batching_gives_the_same_values() -> None:
    rows = frame(60)
    for case in all_cases()[::7]:
        kernel = compile_kernel(case)
        made = kernel.value.alias("$value")
        whole, *parts = (
            with_steps(part, kernel.steps).with_columns(made)["$value"]
            for part in (rows, rows[:1], rows[1:3], rows[3:], rows[:0])
        )
        assert whole.equals(pl.concat(parts), null_equal=True), to_spark_sql(case)


@cache
def text_kernels() -> list[Compiled]:
    return [compile_kernel(case) for case in all_cases() if columns(case) and columns(case) <= {"s", "u", "k"}]


@slow
@settings(max_examples=examples(15), deadline=None)
@given(st.lists(st.tuples(st.text(), st.text(), st.integers(-5, 70)), min_size=1, max_size=8))
def test_text_functions_never_raise(rows: list[tuple[str, str, int]]) -> None:
    found = pl.DataFrame(rows, schema={"s": t.STRING, "u": t.STRING, "k": t.INT}, orient="row")
    found = with_steps(found, [step for made in text_kernels() for step in made.steps])
    found.with_columns(
        expr.alias(f"${i}-{k}")
        for i, made in enumerate(text_kernels())
        for k, expr in enumerate((made.value, *(x.condition for x in made.failures)))
    )


@pytest.mark.parametrize("name", ["n", "z", "j", "g"])
@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]) | st.sampled_from('0123456789+-.:eETZ {}[]"')))
)
def test_parsing_never_raises(name: str, texts: list[str]) -> None:
    rows = pl.DataFrame({name: texts}, schema={name: t.STRING})
    source = column(name)
    for dtype in (*t.NUMERIC, t.BOOLEAN, t.DATE, TIMESTAMP):
        made = compile_kernel(cast(source, dtype))
        got = rows.with_columns(made.value.alias("v"), made.failures[0].condition.alias("f"))
        assert (got["v"].is_null() == got["f"]).all()
    rows.select(compile_kernel(f("get_json_object", source, "$.a[0].b")).value)


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.lists(st.integers(-(2**31), 2**31 - 1)))
def test_time_functions_never_raise_however_far(micros: list[int], days: list[int]) -> None:
    times = pl.DataFrame({"ts": micros}, schema={"ts": t.BIGINT}).cast(TIMESTAMP)
    dates = pl.DataFrame({"d": days}, schema={"d": t.INT}).cast(t.DATE)
    for rows, name in ((times, "ts"), (dates, "d")):
        source = Column(name, rows.schema[name])
        made = [
            f(n, source)
            for n in (
                "year",
                "month",
                "dayofweek",
                "weekofyear",
                "last_day",
                "hour",
                "unix_millis",
                "dayname",
                "to_date",
                "to_timestamp",
            )
        ]
        made += [f("date_trunc", u, source) for u in ("YEAR", "QUARTER", "WEEK", "DAY", "HOUR")] + [
            f("add_months", source, 7),
            f("next_day", source, "mon"),
        ]
        made += [
            f("date_format", source, "yyyy-MM-dd HH:mm:ss.SSS"),
            cast(source, t.STRING),
            f("+", source, f("*", 2, lit(DAY))),
        ]
        for expr in made:
            kernel = compile_kernel(expr)
            with_steps(rows, kernel.steps).with_columns(
                kernel.value.alias("$value"), *(x.condition.alias(f"$f{i}") for i, x in enumerate(kernel.failures))
            )


def test_spark_text_is_quoted() -> None:
    expr = f("concat", Column("a`b", t.STRING), Literal("it's \\ here", t.STRING))
    assert to_spark_sql(expr) == "concat(`a``b`, 'it\\'s \\\\ here')"
