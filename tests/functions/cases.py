"""Expressions over the edge rows, at least one for every function of the table, for both engines."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import cache

import polars as pl

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP
from jupyter_stream.functions import Column, Expr, Literal, cast, resolve
from jupyter_stream.functions.expression import LambdaBody
from jupyter_stream.functions.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NUMERIC,
    STRING,
    VOID,
)
from tests.functions.edge_rows import column

NULL = Literal(None, VOID)


def lit(value: object, dtype: pl.DataType | None = None) -> Literal:
    """A literal as a query would have it: INT where it fits."""
    if dtype is None:
        if isinstance(value, bool):
            dtype = BOOLEAN
        elif isinstance(value, int):
            dtype = INT if -(2**31) <= value < 2**31 else BIGINT
        else:
            kinds = {float: DOUBLE, str: STRING, dt.datetime: TIMESTAMP, dt.date: DATE, dt.timedelta: INTERVAL}
            dtype = kinds[type(value)]
    return Literal(value, dtype)


def f(name: str, *args: object) -> Expr:
    """A call; a string starting with `:` is a column, any other Python value a literal."""
    return resolve(name, [expr(a) for a in args])


def expr(arg: object) -> Expr:
    if arg is None:
        return NULL
    if isinstance(arg, str) and arg.startswith(":"):
        return column(arg[1:])
    return arg if hasattr(arg, "dtype") else lit(arg)  # type: ignore[return-value]


def to(dtype: pl.DataType, arg: object, try_: bool = False) -> Expr:
    return cast(expr(arg), dtype, try_)


DAY, HOUR, MICRO = dt.timedelta(days=1), dt.timedelta(hours=1), dt.timedelta(microseconds=1)
FAR = dt.timedelta(days=100_000_000)


def operators() -> list[Expr]:
    pairs = [(":t", ":t2"), (":h", ":h2"), (":i", ":i2"), (":l", ":l2"), (":f", ":f2"), (":x", ":y"), (":t", ":i"),
        (":i", ":l"), (":l", ":x"),
             (":i", ":f"), (":n", ":i"), (":i", None), (":l", 3), (":l", -1), (":l", -7), (":l", 0), (":x", 2.5),
             (":i", 5), (5, ":i"),
             (":x", 0), (":k", ":k2"), (":l", 2**62), (":l", ":q")]  # fmt: skip
    made = [f(op, a, b) for op in ("+", "-", "*", "/", "%", "pmod", "mod") for a, b in pairs]
    made += [f("div", a, b) for a, b in pairs if not {a, b} & {":f", ":x", 2.5}]
    made += [f(op, a) for op in ("neg", "negative", "abs") for a in (":t", ":h", ":i", ":l", ":f", ":x", ":v", ":n")]
    made += [f("+", ":ts", ":v"), f("-", ":ts", ":v"), f("+", ":v", ":ts"), f("+", ":d", ":v"), f("-", ":d", DAY),
        f("+", ":d", HOUR), f("+", ":d", ":k"),
             f("-", ":d", ":q"), f("-", ":ts", ":ts2"), f("-", ":d", ":d2"), f("-", ":ts", ":d"), f("-", ":d", ":ts"),
             f("+", ":ts", DAY), f("-", ":ts", MICRO),
             f("+", ":ts", FAR), f("-", ":ts", FAR), f("+", ":v", ":v2"), f("-", ":v", ":v2"), f("*", ":v", ":k"),
             f("*", ":l", ":v"), f("*", ":v", ":x"),
             f("/", ":v", ":k"), f("/", ":v", ":x"), f("/", ":v", ":l"), f("div", ":v", ":v2"), f("+", ":d", None),
             f("-", ":ts", None), f("+", 1, ":d"),
             f("-", ":z", ":ts"), f("+", ":z", HOUR), to(STRING, f("-", ":d", ":d2")),
             f("/", f("/", ":v", ":k"), ":l"), f("*", ":v", 2.5), f("*", ":v", 3),
             f("/", ":k", "7"), f("/", "3.5", ":l"), f("/", ":x", "3.5")]  # fmt: skip
    return made


def comparisons() -> list[Expr]:
    pairs = [(":x", ":y"), (":f", ":x"), (":i", ":l"), (":s", ":u"), (":d", ":d2"), (":ts", ":ts2"), (":d", ":ts"),
        (":b", ":c"), (":v", ":v2"),
             (":n", ":i"), (":n", ":x"), (":z", ":d"), (":z", ":ts"), (":i", None), (":ts", "2024-02-29"),
             (":i", 2.5), (":n", ":b")]  # fmt: skip
    made = [f(op, a, b) for op in ("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>") for a, b in pairs]
    made += [
        f("<=>", None, None),
        f("between", ":i", -1, 10),
        f("between", ":x", ":y", 5),
        f("between", ":d", "2020-01-01", "2024-12-31"),
    ]
    made += [f("in", ":i", 1, 2, 3), f("in", ":i", 1, None), f("in", ":s", "a", "abc", ""),
        f("in", ":x", 0.0, float("nan")), f("in", ":i", ":l", ":k"),
             f("in", ":k", 1, f("div", ":i", ":k2")), f("in", ":d", "2024-02-29"), f("in", ":i", None),
             f("in", ":k", ":n", 1), f("in", ":i", *range(-40, 40)), f("in", f("+", ":i", 1), *range(80), None),
             f("in", ":s", *map(str, range(70)), "abc", ""), f("in", f("div", 6, ":i"), *range(70)),
             f("in", ":ts", "1970-01-01", ":d"), f("in", None, 1)]  # fmt: skip
    for most in ("greatest", "least"):
        made += [f(most, ":x", ":y"), f(most, ":i", ":l", 5), f(most, ":s", ":u"), f(most, ":d", ":ts"),
            f(most, ":x", ":f", ":i"), f(most, None, ":k"),
                 f(most, ":b", ":c"), f(most, ":n", ":k"), f(most, ":v", ":v2")]  # fmt: skip
    made += [f(t, a) for t in ("is_null", "isnull", "is_not_null", "isnotnull") for a in (":i", ":s", ":x", None)]
    made += [f("isnan", a) for a in (":x", ":f", ":i", ":n")] + [
        f("nanvl", ":x", ":y"),
        f("nanvl", ":f", 1),
        f("nanvl", ":x", f("/", 1, ":k")),
    ]
    return made


def choices() -> list[Expr]:
    risky = f("div", 100, ":k")
    isone, notzero = f("=", ":k2", 1), f("<>", ":k", 0)
    return [
        f("and", ":b", ":c"), f("or", ":b", ":c"), f("not", ":b"), f("and", ":b", None), f("or", None, ":c"),
        f("and", notzero, f(">", risky, 3)),
        f("or", f("=", ":k", 0), f(">", risky, 3)), f("and", ":b", f(">", risky, 3)), f("or", ":b", f(">", risky, 3)),
        f("and", ":b", ":c", isone),
        f("not", f(">", risky, 3)), f("and", f(">", risky, 3), ":b"),
        f("case", notzero, risky), f("case", notzero, risky, 0), f("case", ":b", risky, ":c", f("+", risky, 1), -1),
        f("case", isone, "one", ":s"),
        f("case", f(">", risky, 3), 1, ":b", f("+", ":i", ":i2"), ":l"), f("case", ":b", 1, ":c", 2.5),
        f("case", ":b", ":d", ":ts"), f("case", ":b", None, ":k"), f("if", isone, f("raise_error", "no"), ":k"),
        f("if", ":b", risky, 0), f("if", ":b", ":i", ":x"), f("if", None, ":i", ":k"), f("if", ":b", "7", ":k"),
        f("coalesce", ":i", ":k"), f("coalesce", ":k2", risky), f("coalesce", risky, ":k2", f("/", 1, ":k")),
        f("coalesce", None, ":s", "x"), f("coalesce", ":s"),
        f("nvl", ":k2", risky), f("nvl", ":s", "none"), f("ifnull", ":d", "2024-01-01"),
        f("nvl2", ":k2", risky, ":i"), f("nvl2", ":s", 1, 2.5),
        f("nullif", ":k", 0), f("nullif", ":k", ":k2"), f("nullif", risky, 0), f("nullif", ":s", ":u"),
        f("nullif", ":x", ":y"), f("/", 1, f("nullif", ":k", 0)),
        f("+", f("div", 10, ":k"), f("div", 10, ":k2")), f("+", ":k2", risky), f("/", risky, ":k2"),
        f("=", ":k2", risky), f("*", risky, risky),
    ]  # fmt: skip


def casts() -> list[Expr]:
    numbers = (":t", ":h", ":i", ":l", ":f", ":x", ":n", ":b")
    made = [
        to(t, a, try_) for t in NUMERIC for a in (*numbers, ":ts") for try_ in (False, True) if column(a[1:]).dtype != t
    ]
    made += [to(STRING, a) for a in (*numbers, ":d", ":ts", ":v")] + [
        to(BOOLEAN, a) for a in (":i", ":l", ":x", ":f", ":n", ":s")
    ]
    made += [to(DATE, ":z"), to(DATE, ":z", True), to(TIMESTAMP, ":z"), to(TIMESTAMP, ":z", True), to(DATE, ":ts"),
        to(TIMESTAMP, ":d"), to(DATE, ":s", True),
             to(TIMESTAMP, ":i"), to(TIMESTAMP, ":l"), to(TIMESTAMP, ":x"), to(TIMESTAMP, ":f"),
             to(BOOLEAN, ":n", True),
             to(INT, to(DOUBLE, ":n"), True), to(FLOAT, to(STRING, to(FLOAT, ":x"))), to(DATE, to(TIMESTAMP, ":z")),
             to(pl.Binary(), ":s"),
             to(STRING, to(pl.Binary(), ":s"))]  # fmt: skip
    return made


def decimals() -> list[Expr]:
    """DECIMAL made of each type, given back, compared and chosen."""
    cents, whole, fine, most = (pl.Decimal(p, s) for p, s in ((10, 2), (38, 0), (38, 30), (5, 5)))
    made = [
        to(dtype, a, try_)
        for dtype in (cents, whole, fine, most)
        for a in (":t", ":h", ":i", ":l", ":f", ":x", ":n", ":b", ":ts", ":m", ":w")
        for try_ in (False, True)
    ]
    made += [
        to(dtype, a, try_)
        for dtype in (*NUMERIC, STRING, BOOLEAN, TIMESTAMP)
        for a in (":m", ":w")
        for try_ in (False, True)
    ]
    # halves of what is shown, and of the value in binary
    made += [to(pl.Decimal(12, s), to(DOUBLE, value)) for s in (0, 1, 2, 3)
             for value in (12.345, 2.675, 1.005, 0.5, -2.5, 0.125, 1234.5678, 99.995, -0.0005)]  # fmt: skip
    made += [f(op, a, b) for op in ("=", "<>", "<", ">=", "<=>")
             for a, b in ((":m", ":w"), (":w", ":w2"), (":w", ":l"), (":m", ":x"), (":m", 12.35), (":w", 5),
                          (":m", ":n"))]  # fmt: skip
    made += [f("in", ":m", 12.35, 5), f("in", ":m", 1000, 7), f("in", ":w", ":w2", ":l"), f("between", ":m", -1, ":w"),
             f("coalesce", to(cents, None), ":m", 5), f("coalesce", ":m", ":w"), f("coalesce", ":m", ":x"),
             f("if", ":b", ":m", ":i"), f("case", ":b", ":m", ":c", ":w", None), f("nullif", ":m", ":w"),
             f("greatest", ":m", ":w", ":i"), f("least", ":w", ":w2"), f("greatest", ":m", ":x"), f("+", ":m", ":w"),
             f("*", ":m", 3), f("/", ":m", ":k"), f("neg", ":m"), f("abs", ":w"), f("round", ":m", 1), f("sqrt", ":m"),
             f("concat", ":m", ":w"), f("is_null", ":m"), f("array", ":m", ":i"), f("isnan", ":m")]  # fmt: skip
    return made


def maths() -> list[Expr]:
    ones = ("ceil", "ceiling", "floor", "round", "bround", "rint", "sign", "signum", "sqrt", "cbrt", "exp", "expm1",
        "ln", "log", "log10", "log2", "log1p",
            "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "degrees", "radians", "cot", "sec", "csc",
            "coth", "sech", "csch", "asinh", "acosh", "atanh", "sind", "cosd", "tand", "cotd", "asind", "acosd",
            "atand")  # fmt: skip
    made = [f(name, a) for name in ones for a in (":x", ":k", ":n", ":f", ":l")]
    made += [
        f(name, a, scale)
        for name in ("round", "bround")
        for a in (":x", ":f", ":l", ":i", ":t")
        for scale in (-3, -1, 0, 1, 2, 5)
    ]
    made += [f(name, lit(value), scale) for name in ("round", "bround") for scale in (0, 1, 2, 3, -2)
             for value in (2.675, 1.005, 0.5, 1.5, -2.5, 1.45, 1234.5678, 0.285, 1e15 + 0.5, 50.0, -250.0)]  # fmt: skip
    made += [f(name, angle) for name in ("sind", "cosd", "tand", "cotd") for angle in range(-360, 405, 15)]
    made += [f(name, ":x", ":y") for name in ("pow", "power", "atan2", "atan2d", "hypot", "log")] + [
        f("pow", ":x", 2),
        f("pow", ":k", 0.5),
        f("log", 2, ":x"),
    ]
    made += [f("pi"), f("e"), f("~", ":i"), f("~", ":l"), f("~", ":t")] + [
        f(op, a, b) for op in "&|^" for a, b in ((":i", ":i2"), (":l", ":k"), (":t", ":h"))
    ]
    made += [f(name, a, b) for name in ("shiftleft", "shiftright") for a in (":i", ":l", ":t") for b in (":k", 3, 33)]
    return made


def texts() -> list[Expr]:
    ones = ("upper", "ucase", "lower", "lcase", "initcap", "length", "char_length", "character_length",
        "octet_length", "bit_length", "trim", "ltrim", "rtrim",
            "btrim", "reverse", "ascii")  # fmt: skip
    made = [f(name, a) for name in ones for a in (":s", ":n", ":i")]
    made += [f("length", to(pl.Binary(), ":s")), f("chr", ":l"), f("char", ":k"), f("chr", ":i"),
        f("btrim", ":s", "a "), f("btrim", ":s", ":u"),
             f("btrim", ":s", ""), f("space", ":k")]  # fmt: skip
    made += [
        f(name, ":s", *more)
        for name in ("lpad", "rpad")
        for more in ((5,), (5, "xy"), (":k", "*"), (":k", ":u"), (3, ""), (-1, "x"), (4, None))
    ]
    made += [f(name, ":s", *more) for name in ("substring", "substr") for more in ((2,), (2, 3), (":k",),
        (":k", ":k2"), (0, 2), (-3, 2), (-100, 99), (1, -1),
             (2, 2147483647), (-2147483648, 5), (2, None), (None, 2), (":k", None))]  # fmt: skip
    made += [f(name, ":s", n) for name in ("left", "right", "repeat") for n in (2, ":k", 0, -1)]
    made += [f("concat", ":s", ":u"), f("concat", ":s", ":i", ":b"), f("concat", ":s"), f("||", ":s", "!"),
        f("||", ":s", ":d"), f("concat", ":x", ":ts"),
             f("concat_ws", "-", ":s", ":u", "z"), f("concat_ws", "", ":s", None), f("concat_ws", ",", None, None),
             f("concat_ws", None, ":s"), f("concat_ws", ",")]  # fmt: skip
    made += [
        f("replace", ":s", *more)
        for more in (("a", "X"), ("a",), ("", "X"), ("ab", ":u"), (":u", "X"), (":u", ":n"), (" ", None), ("$", "$1"))
    ]
    made += [
        f(name, ":s", part)
        for name in ("instr", "contains", "startswith", "endswith", "starts_with", "ends_with")
        for part in ("a", "", ":u", "本", None)
    ]
    made += [
        f(name, part, ":s", *start)
        for name in ("locate", "position")
        for part in ("a", "", ":u", "b")
        for start in ((), (2,), (":k",), (0,))
    ]
    made += [f("split_part", ":s", by, n) for by in (",", ".", "", ":u", "a") for n in (1, 2, -1, ":k")]
    made += [f("substring_index", ":s", by, n) for by in (",", ".", "", "a") for n in (1, 2, -1, 0, ":k")]
    made += [f("translate", ":s", "abc", "xy"), f("translate", ":s", "", "x"), f("translate", ":s", "aab", "123"),
        f("translate", ":s", "本é ", "x"),
             f("translate", ":s", None, "x")]  # fmt: skip
    return made


def patterns() -> list[Expr]:
    likes = (
        "a%",
        "%a",
        "%a%",
        "abc",
        "_b_",
        "%",
        "",
        "%\\%%",
        "%b%c",
        "a__",
        "_",
        "日%",
        "%\\_%",
        "100\\% a\\_b",
        "a\\\\b",
        "%\n",
        "%%",
        "_%",
    )
    made = [f(op, ":s", p) for op in ("like", "ilike") for p in likes] + [
        f("like", ":s", "100!% a!_b", "!"),
        f("ilike", ":s", "%!%%", "!"),
        f("like", ":s", None),
    ]
    regexes = ("a", "^a", "c$", "[a-c]+", r"\d+", r"\w+\s\w+", "(a)(b)?", "(?i)ABC", ".", "^$", r"a\.b", "日.",
        "[^a-z ]", r"\bpadded\b", "(?:ab)+?", "a{2,}",
               r"[\w.]+", r"\S", r"^\s", r"\Qa.b\E", "(?<x>b)c", r"\$", "o'", r"[\]a]", "x|y", r"\p{L}+", r"\u65e5",
               r"[\s\d]", "(?i)é", r"\W")  # fmt: skip
    for name in ("rlike", "regexp", "regexp_like", "regexp_substr", "regexp_count"):
        made += [
            f(name, ":s", p) for p in (regexes if name in ("rlike", "regexp_count", "regexp_substr") else regexes[:2])
        ]
    made += (
        [f("rlike", ":s", None)]
        + [f("regexp_extract", ":s", p, 0) for p in regexes]
        + [f("regexp_extract", ":s", "(a)(b)?", g) for g in (1, 2)]
        + [f("regexp_instr", ":s", p) for p in regexes]
        + [f("regexp_extract_all", ":s", p, 0) for p in regexes]
        + [f("regexp_extract_all", ":s", p, g) for p, g in (("(a)(b)?", 2), ("([a-z])(.)", 1), ("(a|ab)(c|bcd)?", 2))]
        + [f("regexp_matches", ":s", "a"), f("regexp_extract_all", ":s", "([a-z])")]
    )
    made += [f("regexp_extract", ":s", "([a-z])([a-z])"), f("regexp_extract", ":s", None)] + [
        f("regexp_replace", ":s", p, "<$0>") for p in regexes
    ]
    made += [f("regexp_replace", ":s", "(a)(b)?", by) for by in ("$2$1", "$10", "\\$1", "", "x\\\\y", "[$1]")]
    made += [f("split", ":s", p) for p in (",", "[,.]", r"\s+", "a", r"\.", "bc", "日")]
    return made


def times() -> list[Expr]:
    fields = (
        "year",
        "quarter",
        "month",
        "day",
        "dayofmonth",
        "dayofweek",
        "weekday",
        "dayofyear",
        "weekofyear",
        "dayname",
        "monthname",
        "last_day",
    )
    made = [f(name, a) for name in fields for a in (":d", ":ts")] + [
        f("year", "2024-02-29"),
        f("month", f("to_date", ":z")),
    ]
    made += [
        f(name, ":ts")
        for name in (
            "hour",
            "minute",
            "second",
            "unix_seconds",
            "unix_millis",
            "unix_micros",
            "unix_timestamp",
            "to_unix_timestamp",
        )
    ]
    made += [
        f("hour", ":z"),
        f("second", ":d"),
        f("unix_timestamp", ":d"),
        f("unix_timestamp", ":z"),
        f("unix_date", ":d"),
    ]
    made += [f(name, field, ":ts") for name in ("extract", "date_part") for field in ("YEAR", "quarter", "MONTH",
        "week", "day", "DAYOFWEEK", "doy", "dow", "HOUR",
             "minute", "second", "dayofweek_iso", "months", "hours")]  # fmt: skip
    spans = (f("-", ":ts", dt.datetime(2024, 1, 1)), dt.timedelta(days=-3, hours=-4, minutes=-5, seconds=-6.5))
    made += [f("extract", field, span) for field in ("DAY", "hours", "minute", "SECOND") for span in spans]
    units = (
        "YEAR",
        "quarter",
        "MONTH",
        "week",
        "DAY",
        "hour",
        "MINUTE",
        "SECOND",
        "MILLISECOND",
        "MICROSECOND",
        "mm",
        "yyyy",
        "DD",
    )
    made += [f(name, "15 minutes", a) for name in ("time_bucket", "date_bin") for a in (":ts", ":d")]
    made += [f("date_trunc", unit, a) for unit in units for a in (":ts", ":d")] + [
        f("trunc", a, u) for u in ("YEAR", "quarter", "MM", "week") for a in (":d", ":ts")
    ]
    made += [f("to_date", ":z"), f("to_date", ":ts"), f("to_date", ":d"), f("date", ":z"), f("timestamp", ":z"),
        f("to_timestamp", ":z"), f("timestamp", ":d"),
             f("to_timestamp", ":d"), f("date_add", ":d", ":k"), f("date_sub", ":ts", 3), f("dateadd", ":d", ":q"),
             f("date_add", ":z", 1),
             f("datediff", ":d", ":d2"), f("date_diff", ":ts", ":d"), f("add_months", ":d", ":k"),
             f("add_months", ":ts", 13), f("next_day", ":d", "Mon"),
             f("next_day", ":ts", "su"), f("next_day", ":d", "FRIDAY"), f("make_date", 2024, ":k", ":k2"),
             f("make_date", ":k", 2, 29), f("make_date", ":i", 1, 1),
             f("make_timestamp", 2024, ":k", ":k2", 12, 34, 56.789),
             f("make_timestamp", 2024, 2, 29, ":k", ":k2", ":x"), f("make_timestamp", 2024, 2, 29, 1, 2, ":k"),
             f("date_from_unix_date", ":h"), f("timestamp_seconds", ":l"), f("timestamp_seconds", ":x"),
             f("timestamp_seconds", ":i"), f("timestamp_millis", ":l"),
             f("timestamp_micros", ":i"), f("from_unixtime", ":i"), f("from_unixtime", ":k", "yyyy/MM/dd"),
             f("timestamp_millis", ":q")]  # fmt: skip
    spans = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
    made += [
        f("timestampdiff", unit, a, b) for unit in spans for a, b in ((":ts", ":ts2"), (":d", ":ts"), (":d", ":d2"))
    ]
    made += [f("timestampadd", unit, n, a) for unit in spans for n in (":k", ":h", ":l") for a in (":ts", ":d")]
    made += [f("datediff", "MONTH", ":d", ":ts"), f("date_diff", "hour", ":ts", ":z"), f("dateadd", "DAY", 3, ":ts"),
             f("date_add", "YEARS", ":k", ":d")]  # fmt: skip
    shown = ("yyyy-MM-dd HH:mm:ss", "dd/MM/yyyy", "yyyyMMdd", "h:mm a", "EEE, d MMM yyyy", "EEEE MMMM", "D", "DDD",
        "yy", "HH:mm:ss.SSS", "SSSSSS", "H", "s", "M",
             "yyyy-MM-dd'T'HH:mm:ssXXX", "'day' d", "''", "m", "hh", "E", "X", "100%")  # fmt: skip
    made += [f("date_format", a, p) for p in shown for a in (":ts", ":d")]
    read = ("dd/MM/yyyy HH:mm", "d/M/yyyy H:mm", "dd/MM/yyyy")
    made += [f(name, ":g", p) for name in ("to_timestamp", "to_date", "unix_timestamp") for p in read]
    made += [
        f("to_timestamp", ":z", p)
        for p in (
            "yyyy-MM-dd",
            "yyyy-MM-dd HH:mm:ss",
            "yyyy-MM-dd'T'HH:mm:ssXXX",
            "yyyy",
            "yyyyMMdd",
            "yyyy-M-d",
            "yyyy-MM",
        )
    ]
    samples = (("Feb 29 2024", "MMM dd yyyy"), ("12:30 AM", "hh:mm a"), ("12:30 PM", "h:mm a"),
        ("2024-02-29 01:02:03.045", "yyyy-MM-dd HH:mm:ss.SSS"),
               ("2024-02-29 01:02:03.4", "yyyy-MM-dd HH:mm:ss.SSS"), ("2024-02-29 01:02:03.", "yyyy-MM-dd HH:mm:ss.SSS"),
               ("2024-02-29 01:02:03.123456789", "yyyy-MM-dd HH:mm:ss.SSSSSSSSS"), ("0102034567", "HHmmssSSSSSS"),
               ("01:02:03.1234", "HH:mm:ss.SSS"), ("01:02:03.12", "HH:mm:ss.SS"), ("01:02:03.1", "HH:mm:ss.SSSSSS"),
               ("07:08", "HH:mm"), ("29'02", "dd''MM"))  # fmt: skip
    return made + [f("to_timestamp", lit(text), p) for text, p in samples]


def containers() -> list[Expr]:
    arrays = [
        f("array", ":i", ":k", 1),
        f("array", ":s", ":u"),
        f("array", ":x", ":y"),
        f("split", ":s", ","),
        f("array", ":d", None),
    ]
    made = [*arrays, *(f(name, a) for name in ("size", "cardinality", "array_size") for a in arrays)]
    made += [f("array_contains", arrays[0], ":k2"), f("array_contains", arrays[1], "a"),
             f("array_contains", arrays[2], ":x"), f("array_contains", arrays[3], ":u"),
             f("array_contains", arrays[0], 1)]  # fmt: skip
    made += [f(name, a, n) for name in ("element_at", "get", "[]") for a in arrays for n in (1, -1, ":k", 0)]
    made += [f(name, a, v) for name in ("array_append", "array_prepend", "array_position", "array_remove")
             for a, v in ((arrays[0], ":k2"), (arrays[1], "a"), (arrays[2], ":x"), (arrays[3], ":u"),
                          (arrays[0], None))]  # fmt: skip
    made += [f(name, a) for name in ("array_compact", "array_max", "array_min", "array_sort", "sort_array", "array_distinct")
             for a in arrays]  # fmt: skip
    made += [
        f("array_insert", a, n, v)
        for a, v in ((arrays[0], ":k2"), (arrays[1], "a"), (arrays[3], None))
        for n in (1, -1, 2, 5, -6, ":k")
    ]
    made += [
        f("sequence", *args)
        for args in ((1, ":k"), (":k", ":k2"), (":k", ":k2", 2), (":k", 10, -3), (":q", 5, ":k"), (3, 3, 0))
    ]
    made += [f("arrays_overlap", arrays[0], f("array", ":k2", 7)), f("arrays_overlap", arrays[1], arrays[3])]
    made += [f("slice", a, n, m) for a in (arrays[0], arrays[3]) for n in (1, -2, ":k", 0) for m in (2, 0, ":k2")]
    made += [f("array_repeat", a, n) for a in (":i", ":s") for n in (2, 0, -1, ":k")]
    struct = f("named_struct", "a", ":i", "b", ":s", "c", f("named_struct", "d", ":x"))
    made += [f("get_field", struct, "a"), f("get_field", struct, "b"), f("get_field", f("get_field", struct, "c"), "d")]
    made += [f("array_join", arrays[1], "-"), f("array_join", arrays[3], "")]
    paths = ("$.a", "$.b", "$.b.c", "$.b.d[1]", "$.b[0]", "$[1]", "$.e", "$.f", "$.b.c.d", "$.b[2].c", "$.missing")
    made += [f("json_array_length", ":j"), f("json_object_keys", ":j"), f("json_array_length", "[1, [2, 3], {}]")]
    return made + [f("get_json_object", ":j", p) for p in paths] + [f("get_json_object", ":j", None)]


def more_numbers() -> list[Expr]:
    numbers = (":t", ":h", ":i", ":l", ":k")
    made = [f("truncate", a, scale) for a in (":x", ":f", ":l", ":i", ":t") for scale in (-30, -3, -1, 0, 1, 2, 5, 30)]
    made += [f("truncate", lit(value), 2) for value in (2.675, 0.29, 1.15, -4.35, 1e15 + 0.5, 8.41)] + [
        f("truncate", ":k")
    ]
    made += [f("bit_count", a) for a in (*numbers, ":b")] + [f("positive", a) for a in (":i", ":n", ":x")]
    made += [f(name, a, place) for name in ("getbit", "bit_get") for a in numbers for place in (0, 5, ":k")]
    made += [f("width_bucket", *args) for args in ((":x", 0, 10, 5), (":x", ":y", 10, ":q"), (":k", 10, 0, 5),
        (":k", 0, 10, ":l"), (5, ":x", ":y", 3))]  # fmt: skip
    made += [f("factorial", a) for a in (":k", ":i", ":n")] + [f("even", a) for a in (":x", ":k", ":f")]
    made += [
        f(name, a, b) for name in ("fdiv", "fmod") for a, b in ((":x", ":y"), (":k", ":k2"), (":x", 2.5), (":x", 0))
    ]
    return made


def encodings() -> list[Expr]:
    made = [
        f(name, a) for name in ("md5", "sha", "sha1", "crc32", "base64") for a in (":s", ":n", to(pl.Binary(), ":u"))
    ]
    made += [f("hex", a) for a in (":s", ":i", ":l", ":t", to(pl.Binary(), ":u"))] + [
        f("unhex", a) for a in (":s", ":n", ":u")
    ]
    made += [f("unhex", f("hex", ":s")), f("unbase64", f("base64", ":s")), f("unbase64", ":n"), f("unbase64", ":s")]
    made += [f("base64", f("repeat", ":s", 20)), f("unbase64", f("base64", f("repeat", ":s", 20)))]
    made += [f("hash", ":s"), f("hash", ":s", 1), f("hash", ":k", ":k2")]
    made += [f("sha2", ":s", bits) for bits in (0, 224, 256, 384, 512, 1, ":k")]
    for charset in ("UTF-8", "ISO-8859-1", "US-ASCII", "UTF-16", "UTF-16BE", "utf-16le"):
        made += [f("encode", ":s", charset), f("decode", f("encode", ":s", charset), charset)]
    made += [f("decode", to(pl.Binary(), ":s"), "US-ASCII"), f("decode", f("unhex", "ff41"), "UTF-8")]
    made += [f("convert_to", ":s", "UTF8"), f("convert_from", f("convert_to", ":s", "LATIN1"), "LATIN1")]
    made += [
        f("decode", ":k", 1, "a", 2, "b", "c"),
        f("decode", ":k", None, "x"),
        f("prefix", ":s", "a"),
        f("suffix", ":s", ":u"),
    ]
    for name in ("hamming", "mismatches", "jaccard", "levenshtein"):
        made += [f(name, ":s", ":s"), f(name, ":s", ":u"), f(name, ":s", "abc"), f(name, "", ":u")]
    made += [f("levenshtein", ":s", ":u", n) for n in (0, 2, -1, ":k")]
    made += [f("luhn_check", a) for a in (":s", ":n", "8112189876", "0", "", "x")]
    made += [f("elt", n, ":s", ":u", "c") for n in (1, 2, 3, 4, 0, ":k")] + [
        f("elt", ":k", ":s", ":n"),
        f("elt", 2, ":d", "HOUR"),
        f("elt", 1, ":d", "HOUR"),
        f("elt", 2, ":i", "x"),
    ]
    made += [f("overlay", ":s", ":u", n) for n in (1, 2, 0, -2, 50, ":k")]
    made += [f("overlay", ":s", "XX", n, m) for n in (1, 2, -3, ":k") for m in (0, 2, -1, 50, ":k2")]
    made += [f("ltrim", ":s", "a"), f("rtrim", ":s", "cb"), f("ltrim", ":s", ":u"), f("rtrim", ":s", "")]
    return made


def tried() -> list[Expr]:
    pairs = [
        (":t", ":t2"),
        (":i", ":i2"),
        (":l", ":l2"),
        (":x", ":y"),
        (":i", ":l"),
        (":n", ":i"),
        (":l", 0),
        (":v", ":v2"),
    ]
    made = [f(name, a, b) for name in ("try_add", "try_subtract") for a, b in (*pairs, (":d", ":k"), (":ts", ":v"))]
    made += [f(name, a, b) for name in ("try_multiply", "try_divide", "try_mod") for a, b in pairs[:-1]]
    made += [
        f("try_multiply", ":v", ":k"),
        f("try_divide", ":v", ":k"),
        f("div_null", ":i", ":k"),
        f("div_null", ":x", ":y"),
    ]
    made += [f("try_element_at", f("array", ":i", ":k", 1), n) for n in (1, -1, 3, 4, -9, 0)]
    made += [f("try_to_timestamp", a) for a in (":z", ":ts", ":d")] + [f("try_to_timestamp", ":g", "dd/MM/yyyy HH:mm")]
    made += [f("try_make_timestamp", 2024, ":k", ":k2", 12, 34, 56.789)]
    made += [f(name, a) for name in ("isinf", "is_inf", "is_nan") for a in (":x", ":f", ":i", ":n")]
    return [*made, *(f("typeof", a) for a in (":i", ":x", ":s", ":ts", ":v", ":m"))]


def lambda_(dtypes: dict[str, pl.DataType], body: Callable[..., Expr], *captured: Expr) -> tuple[Expr, ...]:
    """A lambda as a call has it: what it takes from around it, and then itself."""
    own = tuple(Column(f"${name}", dtype) for name, dtype in dtypes.items())
    around = tuple(Column(f"$around {i}", c.dtype) for i, c in enumerate(captured))
    return (*captured, Literal(LambdaBody(own, around, body(*own, *around)), VOID))


def lambdas() -> list[Expr]:
    xs, ss = f("array", ":i", ":k", 1, None), f("split", ":s", ",")
    one = {"x": INT}
    big = to(BIGINT, ":k")
    return [
        f("transform", xs, *lambda_(one, lambda x: f("/", 10, x))),
        f("transform", xs, *lambda_({"x": INT, "n": INT}, lambda x, n, k: f("+", f("*", n, k), 1), big)),
        f("transform", ss, *lambda_({"x": STRING}, lambda x, u: f("concat", x, u), column("u"))),
        f("filter", xs, *lambda_(one, lambda x: f(">", x, 1))),
        f("filter", ss, *lambda_({"x": STRING}, lambda x, u: f("<>", x, u), column("u"))),
        *(f(name, xs, *lambda_(one, lambda x: f(">", x, 5))) for name in ("exists", "forall", "any_match", "all_match")),
        f("exists", ss, *lambda_({"x": STRING}, lambda x: f("=", f("div", 1, f("length", x)), 5))),
        f("arrays_zip", xs, ss, f("array", ":k", ":k2")),
        f("zip_with", xs, f("array", ":k", ":k2"), *lambda_({"x": INT, "y": INT}, lambda x, y: f("coalesce", y, x))),
        f("aggregate", f("array", ":k", ":k2", 3), to(BIGINT, 0),
          *lambda_({"a": BIGINT, "x": INT}, lambda a, x: f("+", a, x))),
        f("reduce", ss, ":u", *lambda_({"a": STRING, "x": STRING}, lambda a, x: f("concat", a, "-", x)),
          *lambda_({"a": STRING}, lambda a, k: f("concat", a, to(STRING, k)), column("k"))),
        f("list_transform", xs, *lambda_(one, lambda x: f("neg", f("coalesce", x, 0)))),
        f("list_filter", xs, *lambda_(one, lambda x: f("is_null", x))),
    ]  # fmt: skip


def as_other_systems_have_them() -> list[Expr]:
    xs, ys, ss = f("array", ":i", ":k", 1, None), f("array", ":k2", 1, ":k"), f("split", ":s", ",")
    made = [
        f(name, a, b)
        for name in ("array_union", "array_intersect", "array_except")
        for a, b in ((xs, ys), (ss, f("array", ":u", "b")))
    ]
    made += [
        f("array_slice", a, n, m) for a in (xs, ":s") for n, m in ((2, 3), (None, 2), (-2, None), (0, 9), (":k", ":k2"))
    ]
    made += [f("reverse", a) for a in (xs, ss)] + [f("concat_ws", ":u", ":s", None, ":s"), f("array_join", ss, ":u")]
    made += [
        f("like", ":s", f("concat", "%", f("replace", ":u", "\\", ""), "%")),
        f("ilike", ":s", f("replace", ":u", "\\", "")),
    ]
    made += [f("conv", ":n", base, to_) for base, to_ in ((10, 16), (16, 10), (36, -2), (2, 37), (10, ":k"))]
    made += [f("conv", a, 10, 16) for a in ("-1", "18446744073709551615", "", "-9")]
    made += [
        f("regexp_escape", ":s"),
        f("roundbankers", ":x", 1),
        f("timestamp_trunc", ":ts", "MONTH"),
        f("struct", ":i", 1),
        f("row", ":s"),
    ]
    made += [f("format_string", form, *args) for form, *args in (
        ("%d|%5d|%-6d|%05d|%,d|%+d|%(d|% d", *[":i"] * 8), ("%x %X %o", ":i", ":l", ":t"), ("%s %10s %-8s| %S %.2s", *[":s"] * 5),
        ("%s %s %s", ":x", ":l", ":b"), ("%.2f %8.3f %,.1f %+.0f %010.2f", *[":q"] * 5), ("%e %.3E", ":q", ":q"),
        ("%2$s %1$d %%", ":k", ":u"), ("%b %b", ":b", ":s"), ("%c", 97), ("100%%",))]  # fmt: skip
    made.append(f("printf", "%d", ":k"))
    made += [
        f("date_format", ":ts", p)
        for p in ("Q QQ QQQ QQQQ q qqq", "K KK k kk", "S SS SSSS SSSSS", "x xx xxx Z z VV", "y[ MM]")
    ]
    made += [f("to_timestamp", lit(text), p) for text, p in (
        ("24-02-29", "yy-MM-dd"), ("2024-060", "yyyy-DDD"), ("2024-366", "yyyy-D"), ("2024-02-29", "yyyy-MM-dd[ HH:mm]"),
        ("2024-02-29 12:30", "yyyy-MM-dd[ HH:mm]"), ("29 February 2024", "dd MMMM yyyy"), ("2024-02-29+0530", "yyyy-MM-ddxx"),
    )]  # fmt: skip
    made += [
        f("strftime", ":ts", "%d.%m.%y %H:%M:%S %j"),
        f("strptime", "29.02.2024", "%d.%m.%Y"),
        f("format_date", "%F", ":ts"),
    ]
    made += [
        f("format_timestamp", "%T", ":ts"),
        f("parse_date", "%Y-%m-%d", "2024-02-29"),
        f("parse_timestamp", "%F %T", "2024-02-29 01:02:03"),
    ]
    struct = f("named_struct", "a", ":i", "b", ":s", "c", ":x", "d", f("array", ":k", None), "e", ":b", "f", ":ts2")
    made += [f("to_json", struct), f("to_json", f("array", ":d", None))]
    made += [f("get_field", f("from_json", ":j", "a INT, b STRING, f DOUBLE"), name) for name in ("a", "b", "f")]
    made += [
        f("from_json", "[1, 2, null]", "ARRAY<INT>"),
        f("get_field", f("from_json", '{"a": {"b": [1.5]}}', "a STRUCT<b: ARRAY<DOUBLE>>"), "a"),
    ]
    return made


def maps() -> list[Expr]:
    named = f("map", "a", ":i", "b", ":k")
    keyed = f("map_from_arrays", f("array", ":s", f("concat", ":s", "x")), f("array", ":k", ":k2"))
    made = [f(name, m) for name in ("map_keys", "map_values", "map_entries", "size") for m in (named, keyed)]
    made += [
        f("[]", named, "b"),
        f("element_at", keyed, ":u"),
        f("map_get", keyed, ":s"),
        f("map_contains_key", keyed, ":u"),
    ]
    made += [f("map", ":k", 1, ":k2", 2), f("[]", f("map", 1, ":s"), ":k")]
    both = {"k": STRING, "v": INT}
    made.append(f("map_filter", named, *lambda_(both, lambda k, v, n: f(">", v, n), column("k"))))
    made.append(f("transform_values", named, *lambda_(both, lambda k, v: f("concat", k, to(STRING, v)))))
    return made


def only_in_the_kernel() -> list[Expr]:
    """What Spark hasn't: `gamma` and the like, and patterns of regular expressions that are columns."""
    likeness = ("jaro_similarity", "jaro_winkler_similarity", "damerau_levenshtein")
    made = [f("gamma", ":x"), f("lgamma", ":x"), f("binom", ":k", ":k2"), *(f(name, ":s", ":u") for name in likeness)]
    return [
        *made,
        f("rlike", ":s", ":u"),
        f("str_to_map", ":s"),
        f("split", ":s", f("concat", ":u", ",")),
        f("regexp_replace", ":s", ":u", ":u"),
    ]


@cache
def all_cases() -> list[Expr]:
    """All of them, the same list each time."""
    return [
        *operators(),
        *comparisons(),
        *choices(),
        *casts(),
        *decimals(),
        *maths(),
        *texts(),
        *patterns(),
        *times(),
        *containers(),
        *more_numbers(),
        *encodings(),
        *tried(),
        *lambdas(),
        *as_other_systems_have_them(),
        *maps(),
    ]
