"""Expressions over the edge rows, at least one for every function of the table, for both engines."""

from __future__ import annotations

import datetime as dt

import polars as pl

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP
from jupyter_stream.functions import Expr, Literal, cast, resolve
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
             f("/", f("/", ":v", ":k"), ":l"), f("*", ":v", 2.5), f("*", ":v", 3)]  # fmt: skip
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
             f("in", ":k", ":n", 1),
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
        f("case", ":b", ":d", ":ts"), f("case", ":b", None, ":k"),
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


def maths() -> list[Expr]:
    ones = ("ceil", "ceiling", "floor", "round", "bround", "rint", "sign", "signum", "sqrt", "cbrt", "exp", "expm1",
        "ln", "log", "log10", "log2", "log1p",
            "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "degrees", "radians")  # fmt: skip
    made = [f(name, a) for name in ones for a in (":x", ":k", ":n", ":f", ":l")]
    made += [
        f(name, a, scale)
        for name in ("round", "bround")
        for a in (":x", ":f", ":l", ":i", ":t")
        for scale in (-3, -1, 0, 1, 2, 5)
    ]
    made += [f(name, lit(value), scale) for name in ("round", "bround") for scale in (0, 1, 2, 3, -2)
             for value in (2.675, 1.005, 0.5, 1.5, -2.5, 1.45, 1234.5678, 0.285, 1e15 + 0.5, 50.0, -250.0)]  # fmt: skip
    made += [f(name, ":x", ":y") for name in ("pow", "power", "atan2", "hypot", "log")] + [
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
             (2, 2147483647), (-2147483648, 5))]  # fmt: skip
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
    made += [f(name, a, n) for name in ("element_at", "get") for a in arrays for n in (1, -1, ":k", 0)]
    struct = f("named_struct", "a", ":i", "b", ":s", "c", f("named_struct", "d", ":x"))
    made += [f("get_field", struct, "a"), f("get_field", struct, "b"), f("get_field", f("get_field", struct, "c"), "d")]
    made += [f("array_join", arrays[1], "-"), f("array_join", arrays[3], "")]
    paths = ("$.a", "$.b", "$.b.c", "$.b.d[1]", "$.b[0]", "$[1]", "$.e", "$.f", "$.b.c.d", "$.b[2].c", "$.missing")
    return made + [f("get_json_object", ":j", p) for p in paths] + [f("get_json_object", ":j", None)]


def all_cases() -> list[Expr]:
    return [
        *operators(),
        *comparisons(),
        *choices(),
        *casts(),
        *maths(),
        *texts(),
        *patterns(),
        *times(),
        *containers(),
    ]
