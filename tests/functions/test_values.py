"""What functions give: a table of expressions and values, read beside Spark's documentation."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.functions import Expr, compile_kernel
from jupyter_stream.functions.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TINYINT
from tests.functions.cases import DAY, HOUR, f, lit, to

LEAP = lit(dt.date(2024, 2, 29))
NOON = lit(dt.datetime(2024, 2, 29, 12, 34, 56, 789_000))
NAN = lit(float("nan"))

TABLE: list[tuple[Expr, Any]] = [
    (f("+", 1, 2), 3), (f("/", 7, 2), 3.5), (f("div", -7, 2), -3), (f("%", -7, 3), -1), (f("pmod", -7, 3), 2),
    (f("*", 2, 2.5), 5.0),
    (f("+", LEAP, 1), dt.date(2024, 3, 1)), (f("+", LEAP, DAY), dt.date(2024, 3, 1)),
    (f("+", LEAP, HOUR), dt.datetime(2024, 2, 29, 1)),
    (f("-", LEAP, lit(dt.date(2024, 2, 1))), dt.timedelta(days=28)), (f("*", HOUR, 24), dt.timedelta(days=1)),
    (f("+", "2", 3), 5),
    (f("=", NAN, NAN), True), (f(">", NAN, lit(float("inf"))), True), (f("<=>", None, None), True),
    (f("=", None, 1), None),
    (f("in", 3, 1, None), None), (f("in", 1, 1, None), True), (f("between", 2, 1, 3), True),
    (f("greatest", 1, None, 3), 3), (f("least", NAN, 1.0), 1.0),
    (f("and", False, None), False), (f("or", True, None), True), (f("and", True, None), None), (f("not", None), None),
    (f("case", f(">", 1, 2), "a", "b"), "b"), (f("case", False, 1), None), (f("if", None, 1, 2), 2),
    (f("coalesce", None, 2, 3), 2), (f("nvl2", None, 1, 2), 2),
    (f("nullif", 1, 1), None), (f("nanvl", NAN, 2.0), 2.0), (f("isnan", None), False),
    (to(INT, " 12 "), 12), (to(INT, "x", True), None), (to(INT, 1.9), 1), (to(INT, -1.9), -1),
    (to(BOOLEAN, "Yes"), True), (to(STRING, 1e10), "1.0E10"),
    (to(STRING, 1e-5), "1.0E-5"), (to(STRING, 123.0), "123.0"), (to(STRING, 0.001), "0.001"),
    (to(STRING, -0.0), "-0.0"), (to(STRING, True), "true"), (to(DOUBLE, "1d"), 1.0),
    (to(STRING, NOON), "2024-02-29 12:34:56.789"), (to(DATE, "2024-2-9"), dt.date(2024, 2, 9)),
    (to(TIMESTAMP, "2024-02-29T12:00:00+05:30"), dt.datetime(2024, 2, 29, 6, 30)),
    (to(STRING, HOUR), "INTERVAL '0 01:00:00' DAY TO SECOND"), (to(BIGINT, NOON), 1709210096),
    (f("round", 2.675, 2), 2.68), (f("round", -2.5), -3.0), (f("bround", 2.5), 2.0), (f("round", 1250, -2), 1300),
    (f("ceil", 1.2), 2), (f("floor", -1.2), -2),
    (f("ln", 0), None), (f("sqrt", 9), 3.0), (f("shiftleft", 1, 33), 2), (f("shiftright", -16, 2), -4),
    (f("&", 6, 3), 2), (f("~", 0), -1), (f("sign", -3), -1.0),
    (f("upper", "straße"), "STRASSE"), (f("length", "日本"), 2), (f("octet_length", "日本"), 6),
    (f("ceil", 1e300), 2**63 - 1), (f("floor", -1e300), -(2**63)), (f("floor", float("-inf")), -(2**63)), (f("ceil", NAN), 0),
    (f("+", "2024-02-29", dt.timedelta(hours=1)), "2024-02-29 01:00:00"),
    (f("-", "2024-03-01 00:00:00.5", dt.timedelta(days=1)), "2024-02-29 00:00:00.5"),
    (f("substring", "abcd", 2, None), None), (f("get", f("array", 1, 2), 2), None),
    (f("to_timestamp", "2024-02-29 01:02:03.5", "yyyy-MM-dd HH:mm:ss.SSS"), dt.datetime(2024, 2, 29, 1, 2, 3, 500_000)),
    (f("to_timestamp", "2024-02-29 0.1234567", "yyyy-MM-dd s.SSSSSSSSS"), dt.datetime(2024, 2, 29, 0, 0, 0, 123_456)),
    (f("substring", "abcd", -2), "cd"), (f("substring", "abc", -5, 3), "a"),
    (f("lpad", "7", 3, "0"), "007"), (f("rpad", "abc", 2), "ab"), (f("concat", "a", 1), "a1"),
    (f("concat", "a", None), None), (f("concat_ws", "-", "a", None, "b"), "a-b"),
    (f("replace", "abab", "b"), "aa"), (f("reverse", "e\u0301a"), "a\u0301e"),
    (f("initcap", "ab o'neil"), "Ab O'neil"), (f("instr", "日本語", "語"), 3), (f("locate", "b", "abab", 3), 4),
    (f("split_part", "a-b", "-", -1), "b"), (f("split_part", "a-b", "-", 3), ""),
    (f("substring_index", "a.b.c", ".", -1), "c"), (f("translate", "abc", "ab", "x"), "xc"),
    (f("ascii", "日"), 26085), (f("chr", 321), "A"), (f("startswith", "abc", "ab"), True), (f("left", "abc", 2), "ab"),
    (f("right", "abc", 2), "bc"), (f("||", "a", "b"), "ab"),
    (f("like", "100%", "100!%", "!"), True), (f("like", "a\nb", "a_b"), True), (f("ilike", "ABC", "a%"), True),
    (f("rlike", "abc", "^b"), False), (f("rlike", "٣", r"\d"), False),
    (f("regexp_extract", "a-12", "([a-z])-([0-9]+)", 2), "12"), (f("regexp_extract", "x", "(y)"), ""),
    (f("regexp_replace", "a1", "([0-9])", "<$1>\\$"), "a<1>$"),
    (f("split", "a1b2", "[0-9]"), ["a", "b", ""]), (f("size", f("split", "", ",")), 1),
    (f("element_at", f("array", 1, 2), -1), 2), (f("array_contains", f("array", 1, None), 2), None),
    (f("year", NOON), 2024), (f("dayofweek", LEAP), 5), (f("weekday", LEAP), 3), (f("weekofyear", LEAP), 9),
    (f("dayofyear", LEAP), 60), (f("hour", NOON), 12),
    (f("extract", "SECOND", NOON), 56.789), (f("date_part", "hour", NOON), 12),
    (f("date_trunc", "HOUR", NOON), dt.datetime(2024, 2, 29, 12)),
    (f("date_trunc", "QUARTER", NOON), dt.datetime(2024, 1, 1)), (f("trunc", LEAP, "week"), dt.date(2024, 2, 26)),
    (f("add_months", lit(dt.date(2024, 1, 31)), 1), dt.date(2024, 2, 29)),
    (f("last_day", LEAP), dt.date(2024, 2, 29)), (f("next_day", LEAP, "Mon"), dt.date(2024, 3, 4)),
    (f("datediff", LEAP, lit(dt.date(2024, 2, 27))), 2),
    (f("to_timestamp", "29/02/2024 01:02", "dd/MM/yyyy HH:mm"), dt.datetime(2024, 2, 29, 1, 2)),
    (f("date_format", NOON, "d MMM yyyy, h:mm a"), "29 Feb 2024, 12:34 PM"),
    (f("make_date", 2024, 2, 29), dt.date(2024, 2, 29)),
    (f("make_timestamp", 2024, 2, 29, 1, 2, 3.5), dt.datetime(2024, 2, 29, 1, 2, 3, 500_000)),
    (f("unix_millis", NOON), 1709210096789),
    (f("unix_seconds", lit(dt.datetime(1969, 12, 31, 23, 59, 59, 500_000))), -1),
    (f("timestamp_millis", -1), dt.datetime(1969, 12, 31, 23, 59, 59, 999_000)),
    (f("from_unixtime", 0), "1970-01-01 00:00:00"), (f("get_json_object", '{"a": {"b": [1, "x"]}}', "$.a.b[1]"), "x"),
    (f("pi"), 3.141592653589793),
    (to(pl.Decimal(10, 2), 12.345), Decimal("12.35")), (to(pl.Decimal(10, 2), 2.675), Decimal("2.68")),
    (to(pl.Decimal(38, 0), 1e37), Decimal(10) ** 37), (to(STRING, to(pl.Decimal(20, 10), 0)), "0.0000000000"),
    (to(INT, to(pl.Decimal(5, 2), -12.7)), -12), (to(BOOLEAN, to(pl.Decimal(5, 2), 0.004)), False),
    (f("coalesce", None, to(pl.Decimal(5, 2), 1.5), 2), Decimal("1.50")),
    (f("=", to(pl.Decimal(38, 0), 2**53), lit(2**53 + 1)), False),
    (to(TIMESTAMP, to(pl.Decimal(38, 7), "-1.1234567")), dt.datetime(1969, 12, 31, 23, 59, 58, 876_544)),
]  # fmt: skip


@pytest.mark.parametrize(("expr", "value"), TABLE, ids=[f"{i}" for i in range(len(TABLE))])
def test_value(expr: Expr, value: Any) -> None:
    made = compile_kernel(expr)
    assert made.failures == ()
    got = pl.select(made.value).to_series()
    assert (got.to_list()[0], got.dtype) == (value, expr.dtype)


FAILING: list[tuple[Expr, str]] = [
    (f("+", 2**31 - 1, 1), "INT overflow in +"),
    (f("*", lit(100, TINYINT), lit(2, TINYINT)), "TINYINT overflow in *"),
    (f("neg", lit(-(2**63), BIGINT)), "BIGINT overflow in neg"),
    (f("abs", lit(-(2**31), INT)), "INT overflow in abs"), (f("/", 1, 0), "division by zero"),
    (f("/", 1.0, 0.0), "division by zero"), (f("%", 1, 0), "division by zero"),
    (f("div", lit(-(2**63), BIGINT), -1), "BIGINT overflow in div"), (to(INT, "x"), "the value can't be cast to INT"),
    (to(TINYINT, 128), "the value can't be cast to TINYINT"),
    (to(INT, NAN), "the value can't be cast to INT"), (to(DATE, "2023-02-29"), "the value can't be cast to DATE"),
    (to(TIMESTAMP, "noon"), "the value can't be cast to TIMESTAMP"),
    (f("+", lit(dt.datetime(9999, 1, 1)), dt.timedelta(days=106_000_000)), "TIMESTAMP overflow in +"),
    (f("make_date", 2023, 2, 29), "there is no such date"),
    (f("element_at", f("array", 1), 2), "the array has no item of this number: element_at counts from 1, or from -1 at the end"),
    (f("split_part", "a", "-", 0), "split_part has no part 0: the first is 1, the last is -1"),
    (f("to_date", "x", "yyyy-MM-dd"), "the text is not written as yyyy-MM-dd"),
    (f("[]", f("array", 1), 1), "the array has no item of this number: items count from 0; get(array, index) gives NULL"),
    (f("+", 1, "x"), "the value can't be cast to BIGINT"),
    (to(pl.Decimal(10, 2), 1e8), "the value can't be cast to DECIMAL(10,2)"),
    (to(TINYINT, to(pl.Decimal(10, 2), 128.5)), "the value can't be cast to TINYINT"),
]  # fmt: skip


@pytest.mark.parametrize(("expr", "reason"), FAILING, ids=[f"{i}" for i in range(len(FAILING))])
def test_failure(expr: Expr, reason: str) -> None:
    made = compile_kernel(expr)
    assert [(pl.select(x.condition).item(), x.reason) for x in made.failures] == [(True, reason)]
