"""Rows of awkward values, the same for both engines. Each column draws from its own pool with a fixed seed."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal

import polars as pl

from jupyter_stream.functions import Column

NAN, INF = float("nan"), float("inf")


def day(year: int, month: int, day: int) -> int:
    return (dt.date(year, month, day) - dt.date(1970, 1, 1)).days


def at(*parts: int) -> int:
    return (dt.datetime(*parts) - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)


INTS = {bits: [0, 1, -1, 2, 3, -7, 10, 100, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), 2 ** (bits - 2),
    -(2 ** (bits - 2)) - 1]
        for bits in (8, 16, 32, 64)}  # fmt: skip
DOUBLES = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 0.1, 1e-5, -1e-3, 123456.789, 1e7, 1e10, 1e16, 1.5e300, NAN,
    INF, -INF,
           2.0**31, -(2.0**31) - 1, 2.0**63, -(2.0**63), 9007199254740993.0, 127.9, -128.9, 3.14159, 100.0, 1234567.0,
           0.001]  # fmt: skip
FLOATS = [0.0, -0.0, 1.0, -1.5, 0.1, 3.4e38, NAN, INF, -INF, 16777216.0, 2.5, 1e10, 1e-5, 100.0]
TEXTS = ["", " ", "a", "abc", "ABC", "Hello World", "  padded  ", "a,b,,c", "straße", "ÉCOLE", "日本語", "😀x😀",
    "e\u0301", "\ttab\n",
         "100% a_b", "a\\b", "it's", "aaa", "abcabc", "hello wORLD-foo o'neil", "x=1;y=22", "İ", "ΣΑΣ", "$1", "a.b.c",
         "2024-02-29"]  # fmt: skip
NUMERALS = ["0", "1", "-1", "+5", " 42 ", "\t7\n", "12.5", ".5", "5.", "1e3", "-1E-2", "1d", "2.5F", "", " ", "abc",
    "NaN", "nan", "Infinity", "-inf",
            "+Infinity", "inf", "127", "128", "-129", "32768", "2147483648", "9223372036854775807",
            "9223372036854775808", "1_000", "0x10",
            "true", "t", " Yes ", "n", "OFF", "1e400", "--1", "+", "٣", "007", "-0", "+-1", "1 2", "infinit", "+nan",
    "1e", "e5", ".", "+.5", "-.", "1.e5", "iNf", "+NaN", "1f5"]  # fmt: skip
TIMES = ["2024-02-29", "2023-02-29", "2024-2-9", "2024-02-30", "2024", "2024-06", "1969-12-31 23:59:59.999999",
    "2024-02-29T12:34:56Z",
         "2024-02-29 12:34:56.1234567", "2024-02-29 12:34", "2024-02-29 12:34:56+05:30",
         "2024-02-29T12:34:56.5-08:00", "2024-02-29 24:00:00",
         "2024-13-01", "2024-00-10", "24-01-01", "0001-01-01", "9999-12-31 23:59:59", "x", "", " 2024-02-29 ",
         "2024-02-29 1:2:3",
         "2024-02-29 12:34:56 UTC", "2024-02-29T", "2024-02-29 junk", "+2024-01-01", "-0001-01-01", "12024-01-01",
         "2024-02-29 12:34:56.",
         "2024-02-29 12:34:56GMT", "2024-02-29 12", "20240229", "2024-02-29 12:34:60", "2024-02-29 12:34:56+5",
         "2024-02-29 12:34:56+19:00",
         "1900-02-29", "2000-02-29", "2024/02/29", "2024-02-29 12:34:56UTC+1", "2024-02-29T12:34Z",
         "2024-02-29Z"]  # fmt: skip
DATES = [0, -1, 1, day(2024, 2, 29), day(2023, 2, 28), day(1900, 3, 1), day(2000, 2, 29), day(1, 1, 1),
    day(9999, 12, 31), day(2021, 1, 3),
         day(2020, 12, 31), day(2024, 12, 30), day(1969, 12, 29), day(2024, 1, 31), day(2024, 3, 31),
         day(1582, 10, 10)]  # fmt: skip
STAMPS = [0, -1, 1, 999_999, -999_999, at(2024, 2, 29, 12, 34, 56, 123456), at(1969, 12, 31, 23, 59, 59), at(1, 1, 1),
    at(9999, 12, 31, 23, 59, 59, 999999),
          at(1960, 7, 4, 1, 2, 3, 400), at(2024, 12, 30, 23, 0), at(2021, 1, 3, 0, 0, 1),
          at(2024, 3, 31, 6, 59, 59, 999999), at(2000, 2, 29)]  # fmt: skip
INTERVALS = [
    0,
    1,
    -1,
    1_000_000,
    86_400_000_000,
    -86_400_000_001,
    3_661_500_000,
    7 * 86_400_000_000,
    90_061_000_001,
    10**15,
]
SMALL = [0, 1, -1, 2, 3, -2, 5, 7, -5, 12, 13, 29, 31, 60, 100]
JSON = ['{"a": 1, "b": {"c": "x", "d": [1, 2, 3]}, "e": null, "f": true}', '{"a": "text", "b": [10, "z", {"c": 5}]}',
    "not json", "", "[1, 2]",
        '{"b": {"c": {"d": 1}}}', "{}", '{"a": 1.5}', '"str"', "42", '{"a": "q\\"uote"}', '{"é": 1, "a": "日本"}',
        '{"a": {}}', '{"a": [] }',
        '{"a": 1', '{"a": false, "b": {}}', '{"a": -12}', "null"]  # fmt: skip
MONEY = [
    Decimal(v) for v in ("0.00", "12.35", "-12.35", "0.01", "99999999.99", "-99999999.99", "127.99", "-0.05", "1e3")
]
WIDE = [
    Decimal(v)
    for v in ("0", "1234567890123456789012345678.0123456789", "-9999999999999999999999999999", "0.0000000001", "-0.0000000005",
        "9223372036854775807.9", "9223372036854775808", "9007199254740993", "1700000000.1234567", "-1.1234567", "12.345",
        "-12.355", "2147483648", "9223372036854.775807", "9223372036855", "0.5", "1.5")
]  # fmt: skip
FORMATTED = [
    "29/02/2024 07:08",
    "31/12/1969 23:59",
    "30/02/2024 00:00",
    "1/2/2024 07:08",
    "",
    "x",
    "29/02/2024",
    "29/02/2024 24:00",
]

_POOLS: dict[str, tuple[pl.DataType, list[object]]] = {
    "t": (pl.Int8(), INTS[8]), "t2": (pl.Int8(), INTS[8]), "h": (pl.Int16(), INTS[16]), "h2": (pl.Int16(), INTS[16]),
    "i": (pl.Int32(), INTS[32]), "i2": (pl.Int32(), INTS[32]), "l": (pl.Int64(), INTS[64]),
    "l2": (pl.Int64(), INTS[64]),
    "k": (pl.Int32(), SMALL), "k2": (pl.Int32(), SMALL), "q": (pl.Int64(), SMALL),
    "f": (pl.Float32(), FLOATS), "f2": (pl.Float32(), FLOATS), "x": (pl.Float64(), DOUBLES),
    "y": (pl.Float64(), DOUBLES),
    "b": (pl.Boolean(), [True, False]), "c": (pl.Boolean(), [True, False]),
    "s": (pl.String(), TEXTS), "u": (pl.String(), TEXTS), "n": (pl.String(), NUMERALS), "z": (pl.String(), TIMES),
    "d": (pl.Date(), DATES), "d2": (pl.Date(), DATES), "ts": (pl.Datetime("us"), STAMPS),
    "ts2": (pl.Datetime("us"), STAMPS),
    "v": (pl.Duration("us"), INTERVALS), "v2": (pl.Duration("us"), INTERVALS), "j": (pl.String(), JSON),
    "g": (pl.String(), FORMATTED),
    "m": (pl.Decimal(10, 2), MONEY), "w": (pl.Decimal(38, 10), WIDE), "w2": (pl.Decimal(38, 10), WIDE),
}  # fmt: skip


def column(name: str) -> Column:
    return Column(name, _POOLS[name][0])


def frame(rows: int = 240, seed: int = 7) -> pl.DataFrame:
    """Every value of every pool at least once, in any order; one in twenty or more is NULL."""
    draw = random.Random(seed)
    made = {}
    for name, (dtype, pool) in _POOLS.items():
        nulls = rows // 20
        values = [*pool, *[None] * nulls, *draw.choices(pool, k=rows - len(pool) - nulls)]
        draw.shuffle(values)
        physical = {pl.Date(): pl.Int32(), pl.Datetime("us"): pl.Int64(), pl.Duration("us"): pl.Int64()}.get(
            dtype, dtype
        )
        made[name] = pl.Series(name, values, dtype=physical).cast(dtype)
    return pl.DataFrame(made)
