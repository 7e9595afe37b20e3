"""Drawn calls of every function, operator and cast of the table, in text that both systems read. Found from the table by trying.

What a function takes is not written down here: `signatures` asks the table which types it accepts.
"""

from __future__ import annotations

import functools
import itertools
import random
import re
from dataclasses import dataclass

import polars as pl

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP
from jupyter_stream.functions import BadArguments, Column, Expr, Literal, names, resolve
from jupyter_stream.functions import types as t
from jupyter_stream.syntax.unit_words import BARE_ONLY, UNITS
from tests.differential.draw import Draw

ARRAY_INT, ARRAY_TEXT = pl.List(pl.Int32()), pl.List(pl.String())
TEXTS = (
    "abc", "", "a,b,,c", " a b ", "Straße", "日本語", "😀x", "%a_b", "aXbX", "2024-02-29", "2024-02-29 12:34:56.789",
    "1969-12-31 23:59:59", "12", "-1.5", "1e3", "NaN", "true", "9223372036854775808", '{"a": [1, {"b": null}]}', "x",
)  # fmt: skip
CONSTANTS = (
    "a", "", "%a%", "a_", "[a-c]+", "(a)(.)?", ",", "year", "MONTH", "week", "day", "HOUR", "minute", "SECOND", "quarter",
    "millisecond", "yyyy-MM-dd", "yyyy-MM-dd HH:mm:ss.SSS", "dd/MM/yyyy", "HH:mm", "EEE", "D", "Mon", "FRIDAY", "$.a[0]",
    "$.a", "x", "!", "UTF-8",
)  # fmt: skip
"""Units, formats, patterns and paths: what may have to be a constant."""


def _cast(kind: str, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"CAST({v} AS {kind})" for v in values)


_INTS = ("1", "0", "-1", "2", "7", "-3", "31", "100")
_BIGINTS = ("4611686018427387904", "9223372036854775807", "'-9223372036854775808'", "2147483648", "-62135596800")
_FLOATS = ("1.5e0", "0.0e0", "-2.25e0", "'NaN'", "'Infinity'", "3.4e38", "16777217", "0.1e0")
_DOUBLES = (
    "1.5e0", "0.0e0", "-1.5e0", "2.5e0", "0.1e0", "-0.0e0", "1.0e300", "1.0e-300", "9.3e18", "-1.0e19", "123456.789e0",
    "1.0e15",
)  # fmt: skip
_DATES = (
    "2024-02-29", "1970-01-01", "1969-12-31", "0001-01-01", "9999-12-31", "1900-03-01", "2023-12-31", "1582-10-10",
)  # fmt: skip
_TIMES = (
    "2024-02-29 12:34:56.789012", "1970-01-01 00:00:00", "1969-12-31 23:59:59.999999", "0001-01-01 00:00:00",
    "9999-12-31 23:59:59.999999", "1960-07-04 01:02:03.0004", "2021-01-03 00:00:01",
)  # fmt: skip
_LENGTHS = ("'1' DAY", "'-3' HOUR", "'90' MINUTE", "'0' SECOND", "'100000' DAY")
POOLS: dict[pl.DataType, tuple[str, ...]] = {
    t.BOOLEAN: ("true", "false"),
    t.TINYINT: _cast("TINYINT", (*_INTS, "127", "-128")),
    t.SMALLINT: _cast("SMALLINT", (*_INTS, "32767", "-32768")),
    t.INT: (*_INTS, "2147483647", "-2147483648", "65536", "1000000"),
    t.BIGINT: _cast("BIGINT", (*_INTS, *_BIGINTS)),
    t.FLOAT: _cast("FLOAT", _FLOATS),
    t.DOUBLE: (*_DOUBLES, *_cast("DOUBLE", ("'NaN'", "'Infinity'", "'-Infinity'"))),
    t.STRING: tuple(f"'{text}'" for text in TEXTS),
    t.DATE: tuple(f"DATE '{d}'" for d in _DATES),
    TIMESTAMP: tuple(f"TIMESTAMP '{d}'" for d in _TIMES),
    # what is added makes it DAY TO SECOND, the one kind of interval there is here
    INTERVAL: tuple(f"(INTERVAL '0' DAY + INTERVAL {d} + INTERVAL '0' SECOND)" for d in _LENGTHS),
    ARRAY_INT: ("array(1, 2, 3)", "array(1, CAST(NULL AS INT))", "array(7)"),
    ARRAY_TEXT: ("array('a', 'b', '')", "array('abc', CAST(NULL AS STRING))", "split('x,y', ',')"),
}
"""Values of each type as SQL text, awkward ones among them."""
NAMES_OF = {
    t.BOOLEAN: "BOOLEAN", t.TINYINT: "TINYINT", t.SMALLINT: "SMALLINT", t.INT: "INT", t.BIGINT: "BIGINT", t.FLOAT: "FLOAT",
    t.DOUBLE: "DOUBLE", t.STRING: "STRING", t.DATE: "DATE", TIMESTAMP: "TIMESTAMP", INTERVAL: "INTERVAL DAY",
    ARRAY_INT: "ARRAY<INT>", ARRAY_TEXT: "ARRAY<STRING>",
}  # fmt: skip
NULLS = {dtype: f"CAST(NULL AS {name})" for dtype, name in NAMES_OF.items()}
NULLS |= {
    INTERVAL: "(INTERVAL '1' DAY * CAST(NULL AS INT) + INTERVAL '0' SECOND)",
    ARRAY_INT: "if(false, array(1), NULL)",
    ARRAY_TEXT: "split(CAST(NULL AS STRING), ',')",
}
"""What is NULL of each type, without naming types that can't be cast to."""
TYPES = tuple(POOLS)
CAST_TO = ("STRING", "INT", "BIGINT", "DOUBLE", "BOOLEAN", "TINYINT", "SMALLINT", "FLOAT", "DATE", "TIMESTAMP",
           "DECIMAL(10,2)", "DECIMAL(38,10)", "DECIMAL(5,0)", "DECIMAL(38,37)")  # fmt: skip

INFIX = {"neg": "-({0})", "not": "NOT ({0})", "~": "~({0})", "between": "{0} BETWEEN {1} AND {2}", "is_null": "{0} IS NULL",
         "is_not_null": "{0} IS NOT NULL", "extract": "extract({0} FROM {1})", "like": "{0} LIKE {1}", "ilike": "{0} ILIKE {1}",
         "[]": "{0}[{1}]", "rlike": "{0} RLIKE {1}", "regexp": "{0} REGEXP {1}"}  # fmt: skip
WORDS = ("div", "and", "or")
TRIMS = {"ltrim": "LEADING", "rtrim": "TRAILING"}
"""Their short forms take the characters first in Spark, and last in most others and here."""
FIELDS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFWEEK", "DOY", "HOUR", "MINUTE", "SECOND")
CLOCKS = ("current_date", "current_timestamp", "localtimestamp", "now")
WRITTEN = {
    "transform": ("transform({ints}, x -> x + {int})", "transform({texts}, (x, i) -> concat(x, '-', i))",
                  "transform({ints}, x -> if(x > {int}, NULL, x))"),
    "filter": ("filter({ints}, x -> x > {int})", "filter({texts}, x -> x IS NOT NULL)", "filter({ints}, (x, i) -> i < x)"),
    "exists": ("exists({ints}, x -> x > {int})", "exists({texts}, x -> x = {text})"),
    "forall": ("forall({ints}, x -> x > {int})", "forall({texts}, x -> x <> {text})"),
    "zip_with": ("zip_with({ints}, {ints}, (x, y) -> x + y)", "zip_with({texts}, {ints}, (x, y) -> coalesce(x, {text}))"),
    "aggregate": ("aggregate({ints}, 0, (a, x) -> a + x)", "aggregate({texts}, '', (a, x) -> concat(a, x), a -> upper(a))",
                  "aggregate({ints}, {int}, (a, x) -> a + coalesce(x, 0))"),
    "reduce": ("reduce({ints}, 0, (a, x) -> a + x)", "reduce({ints}, CAST(0 AS BIGINT), (a, x) -> a + x, a -> a * 2)"),
    "map_filter": ("map_keys(map_filter(map({text}, {int}, 'k', 1), (k, v) -> v > {int}))",),
    "transform_values": ("map_values(transform_values(map({text}, {int}, 'k', 1), (k, v) -> v + 1))",),
    "map": ("map({text}, {int}, {text}, {int})[{text}]", "map_values(map({int}, {text}))", "cardinality(map({text}, {double}))"),
    "map_from_arrays": ("map_keys(map_from_arrays({texts}, {ints}))", "map_from_arrays({ints}, {texts})[{int}]"),
    "str_to_map": ("map_keys(str_to_map({text}, ',', ':'))", "map_values(str_to_map({text}))", "str_to_map('a:1,b:2')[{text}]"),
    "map_keys": ("map_keys(map({text}, {int}))", "map_keys(map({int}, {text}, 3, NULL))"),
    "map_values": ("map_values(map({text}, {int}))", "map_values(map({int}, {text}, 3, NULL))"),
    "map_entries": ("to_json(map_entries(map({text}, {int})))",),
    "map_contains_key": ("map_contains_key(map({text}, {int}), {text})", "map_contains_key(map({int}, {text}), {int})"),
    "format_string": ("format_string('%d', {int})", "format_string('%s|%10s|%-6s|', {text}, {int}, {bool})",
                      "format_string('%.2f %e', {double}, {double})", "format_string('%05d %x %,d', {int}, {bigint}, {bigint})",
                      "format_string('%+d %% %08.3f', {bigint}, {double})"),
    "printf": ("printf('%d', {int})", "printf('%s', {text})"),
    "named_struct": ("named_struct('a', {int}, 'b', {text}).b", "to_json(named_struct('a', {double}, 'b', {ints}))"),
    "struct": ("to_json(struct({int} AS a, {text} AS b))", "struct({int} AS a, {text} AS b).b"),
    "get_field": ("named_struct('a', named_struct('b', {text})).a.b", "struct({int} AS a, {double} AS b).b"),
    "arrays_zip": ("size(arrays_zip({ints}, {texts}))",
                   "to_json(arrays_zip(filter({ints}, x -> true), split({text}, ','), array({double})))"),
    "date_part": tuple(f"date_part('{field}', {of})" for of in ("{ts}", "{interval}") for field in ("day", "HOUR", "min", "s")),
    "position": ("position({text} IN {text})",),
    "to_json": ("to_json(named_struct('a', {text}, 'b', {double}, 'c', {bool}))", "to_json({ints})",
                "to_json(named_struct('d', {date}, 't', {bigint}))"),
    "from_json": ("from_json({json}, 'a INT, b STRING').a", "from_json({json}, 'a INT, b STRING').b",
                  "to_json(from_json({json}, 'a DOUBLE, c ARRAY<INT>'))", "from_json({json}, 'a BIGINT').a"),
}  # fmt: skip
"""Calls with words, fields or lambdas of their own, of which the rest is drawn: `{int}` is a value of that type, and so on."""
HOLES = {
    "int": t.INT, "bigint": t.BIGINT, "double": t.DOUBLE, "text": t.STRING, "bool": t.BOOLEAN, "date": t.DATE,
    "ints": ARRAY_INT, "texts": ARRAY_TEXT, "ts": TIMESTAMP, "interval": INTERVAL,
}  # fmt: skip
JSON = (
    "{}", '{"a": 1}', '{"a":1,"b":"x"}', '{"a":null,"b":2}', '{"b":""}', '{"a":1.5,"b":true}', "", "null", "[]", "{",
    '{"a":"7","b":{"z":1}}', '{"c":[1,2,null]}', '{"a": 99999999999}', ' {"a":-0} ',
)  # fmt: skip
WITH_WORDS = frozenset(("cast", "try_cast", "case", *WRITTEN))
NOT_DRAWN = frozenset((*CLOCKS, "hash", "row"))
"""Clocks differ, Spark's `hash` is another function, of all its arguments, and a row is what IN compares with several columns.
All of them are in `tests/functions/cases.py`."""
REGEX = ("rlike", "regexp", "regexp_like", "regexp_matches", "regexp_instr", "regexp_extract_all", "regexp_extract",
         "regexp_substr", "regexp_count", "regexp_replace", "split")  # fmt: skip
"""Their patterns are drawn as constants: one that is a column is the kernel's on Spark, since Java's syntax is another one."""
NOT_IN_SPARK = frozenset((
    "coth", "sech", "csch", "sind", "cosd", "tand", "cotd", "asind", "acosd", "atand", "atan2d",
    "truncate", "even", "fdiv", "fmod", "convert_to", "convert_from", "prefix", "suffix", "div_null", "isinf", "is_inf", "is_nan",
    "list_transform", "list_filter", "any_match", "all_match", "map_get", "strftime", "strptime", "format_date",
    "format_timestamp", "parse_date", "parse_timestamp", "gamma", "lgamma", "binom", "jaro_similarity",
    "damerau_levenshtein", "hamming", "mismatches", "jaccard", "regexp_matches", "array_slice",
    "roundbankers", "timestamp_trunc", "regexp_escape",
))  # fmt: skip
"""What Spark has by no name: `to_spark_sql` writes a formula."""
TRIES = (1, 150, 250, 500, 150, 100, 300)
"""How many combinations of types are tried with no argument, with one, and so on."""
COMMON = (t.STRING, t.INT, t.BIGINT, t.DOUBLE, t.DATE, TIMESTAMP, ARRAY_TEXT)


@dataclass(frozen=True)
class Taken:
    """Arguments a function takes: their types, and which must be constants."""

    types: tuple[pl.DataType, ...]
    constants: tuple[bool, ...]


@dataclass(frozen=True)
class Drawn:
    """A call, over columns `c0`, `c1`, ... of one row.

    Attributes:
        text: the expression.
        columns: each column's value, as SQL text.
    """

    text: str
    columns: tuple[str, ...]


@functools.cache
def signatures(name: str) -> tuple[Taken, ...]:
    """What the table lets a function take: hundreds of combinations of types are tried."""
    found = {taken for count in range(len(TRIES)) for taken in _of_count(name, count)}
    return tuple(sorted(found, key=lambda f: (len(f.types), str(f.types), f.constants)))


def _of_count(name: str, count: int) -> set[Taken]:
    tried = random.Random(f"{name} {count}")
    found: set[Taken] = set()
    if count == 2:  # a unit or a format beside a value: each of them
        for dtype in COMMON:
            for text in CONSTANTS:
                for types, constants in (((dtype, t.STRING), (False, True)), ((t.STRING, dtype), (True, False))):
                    _try(name, types, constants, (text, text), found)
    if _is_unit(name, 0, count):
        for types in itertools.product(COMMON, repeat=count - 1):
            _try(name, (t.STRING, *types), (True, *[False] * (count - 1)), ("day",) * count, found)
    for _ in range(TRIES[count]):
        types = tuple(tried.choice(TYPES) if tried.random() < 0.5 else tried.choice(COMMON) for _ in range(count))
        constants = tuple(x == t.STRING and tried.random() < 0.6 for x in types)
        _try(name, types, constants, tuple(tried.choice(CONSTANTS) for _ in range(count)), found)
    return found


def _try(
    name: str, types: tuple[pl.DataType, ...], constants: tuple[bool, ...], texts: tuple[str, ...], found: set[Taken]
) -> None:
    """Add what is taken to `found`."""
    texts_given = zip(types[1:], constants[1:], strict=True)
    if name in REGEX and (not all(constants[1:2]) or any(x == t.STRING and not fixed for x, fixed in texts_given)):
        return
    args: list[Expr] = [
        Literal(text, dtype) if fixed else Column(f"c{i}", dtype)
        for i, (dtype, fixed, text) in enumerate(zip(types, constants, texts, strict=True))
    ]
    try:
        resolve(name, args)
    except BadArguments:
        return
    found.add(Taken(types, constants))


def drawable() -> tuple[str, ...]:
    """The functions that are drawn."""
    return tuple(n for n in names() if n not in NOT_DRAWN)


def call(draw: Draw, name: str) -> Drawn:
    """A call of a function with drawn arguments."""
    columns: list[str] = []
    if name in ("cast", "try_cast"):
        source = draw.pick(TYPES)
        value = _value(draw, source, columns)
        return Drawn(f"{name.upper()}({value} AS {draw.pick(CAST_TO)})", tuple(columns))
    if name == "case":
        dtype = draw.pick(TYPES)
        parts = [_value(draw, x, columns) for x in (t.BOOLEAN, dtype, dtype)]
        return Drawn(f"CASE WHEN {parts[0]} THEN {parts[1]} ELSE {parts[2]} END", tuple(columns))
    if name in WRITTEN:
        return _filled(draw, draw.pick(WRITTEN[name]), columns)
    taken = draw.pick(signatures(name))
    args = []
    for i, (dtype, fixed) in enumerate(zip(taken.types, taken.constants, strict=True)):
        if name == "extract" and i == 0:
            args.append(draw.pick(FIELDS))
        elif fixed and _is_unit(name, i, len(taken.types)):
            args.append(draw.pick(UNITS))
        elif fixed:
            args.append("'" + draw.pick(CONSTANTS) + "'")
        else:
            args.append(_value(draw, dtype, columns))
    return Drawn(_written(name, args), tuple(columns))


def _filled(draw: Draw, template: str, columns: list[str]) -> Drawn:
    def value(hole: re.Match[str]) -> str:
        if hole[1] != "json":
            return _value(draw, HOLES[hole[1]], columns)
        columns.append(f"'{draw.pick(JSON)}'")
        return f"c{len(columns) - 1}"

    return Drawn(re.sub(r"\{(\w+)\}", value, template), tuple(columns))


def _is_unit(name: str, place: int, count: int) -> bool:
    return name in BARE_ONLY and place == 0 and count == 3


def _value(draw: Draw, dtype: pl.DataType, columns: list[str]) -> str:
    """A column of the row with a drawn value; or the value itself."""
    null = draw.chance(10)
    text = NULLS[dtype] if null else draw.pick(POOLS[dtype])
    if draw.chance(20):
        return text
    columns.append(text)
    return f"c{len(columns) - 1}"


def _written(name: str, args: list[str]) -> str:
    if name == "in":
        return f"{args[0]} IN ({', '.join(args[1:])})" if len(args) > 1 else f"{args[0]} IN (NULL)"
    if name in INFIX:
        made = INFIX[name].format(*args)
        return f"{made} ESCAPE {args[2]}" if name in ("like", "ilike") and len(args) == 3 else made
    if name in TRIMS and len(args) == 2:
        return f"trim({TRIMS[name]} {args[1]} FROM {args[0]})"
    if not name[0].isalpha() or name in WORDS:
        return f" {name} ".join(f"({a})" for a in args)
    return f"{name}({', '.join(args)})"
