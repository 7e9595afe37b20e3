"""JSON texts of structs and arrays, and back: `to_json`, `from_json`. Values by path are in `json`."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

import polars as pl

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP, type_name
from jupyter_stream.functions.binding import argument, constant, count
from jupyter_stream.functions.elementwise import calling, rowwise
from jupyter_stream.functions.expression import Call, Expr
from jupyter_stream.functions.function import BadArguments, Function, strict
from jupyter_stream.functions.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    RANGES,
    SMALLINT,
    STRING,
    TINYINT,
    instance,
    is_integral,
)

_TYPES: Final[dict[str, pl.DataType]] = {
    "boolean": BOOLEAN, "tinyint": TINYINT, "byte": TINYINT, "smallint": SMALLINT, "short": SMALLINT, "int": INT, "integer": INT,
    "bigint": BIGINT, "long": BIGINT, "float": FLOAT, "double": DOUBLE, "string": STRING,
}  # fmt: skip
_TOKEN: Final = re.compile(r"\s*([A-Za-z_][A-Za-z_0-9]*|`[^`]+`|[<>,:])")


class _Schema:
    """`a INT, b ARRAY<STRING>, c STRUCT<d: DOUBLE>` as a type."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = []
        at = 0
        while at < len(text.rstrip()):
            found = _TOKEN.match(text, at)
            if found is None:
                raise self._wrong()
            self._tokens.append(found[1])
            at = found.end()
        self._at = 0

    def whole(self) -> pl.DataType:
        """A type, or fields with their types."""
        following = self._tokens[1:2]
        one = len(self._tokens) == 1 or following == ["<"]
        made = self._type() if one else self._fields(None)
        if self._at < len(self._tokens):
            raise self._wrong()
        return made

    def _wrong(self) -> BadArguments:
        return BadArguments(f"{self._text!r} is not a schema such as 'a INT, b ARRAY<STRING>'")

    def _next(self) -> str:
        if self._at >= len(self._tokens):
            raise self._wrong()
        self._at += 1
        return self._tokens[self._at - 1]

    def _comes(self, sign: str) -> bool:
        found = self._tokens[self._at : self._at + 1] == [sign]
        self._at += found
        return found

    def _type(self) -> pl.DataType:
        word = self._next().lower()
        if word == "array" and self._comes("<"):
            inner = self._type()
            if not self._comes(">"):
                raise self._wrong()
            return pl.List(inner)
        if word == "struct" and self._comes("<"):
            return self._fields(">")
        if word not in _TYPES:
            raise BadArguments(
                f"from_json has no {word.upper()}; there are ARRAY<>, STRUCT<>, {', '.join(_TYPES).upper()}"
            )
        return _TYPES[word]

    def _fields(self, end: str | None) -> pl.DataType:
        fields = []
        while True:
            name = self._next().strip("`")
            self._comes(":")
            fields.append(pl.Field(name, self._type()))
            if not self._comes(","):
                break
        if end is not None and not self._comes(end):
            raise self._wrong()
        if len({f.name.lower() for f in fields}) < len(fields):
            raise BadArguments("two fields of a struct have one name")
        return pl.Struct(fields)


def _bind_from(args: tuple[Expr, ...]) -> Expr:
    count("from_json", args, 2, 2)
    text = argument("from_json", 0, args[0], STRING)
    schema = constant("from_json", 1, argument("from_json", 1, args[1], STRING))
    if not isinstance(schema.value, str):
        raise BadArguments("from_json takes a schema such as 'a INT, b STRING'")
    dtype = _Schema(schema.value).whole()
    if not isinstance(dtype, pl.Struct | pl.List):
        raise BadArguments("from_json reads a struct, 'a INT, b STRING', or an array, 'ARRAY<INT>'")
    return Call("from_json", (text, schema), dtype)


def _no_number(word: str) -> None:
    raise ValueError(f"JSON has no {word}")


_DECODER: Final = json.JSONDecoder(parse_constant=_no_number)
_NOTHING: Final = object()


def _read(text: str, dtype: pl.DataType) -> Any:
    """The value of a JSON text, as Spark reads it: a text that is none has NULL in all its fields."""
    empty = {f.name: None for f in dtype.fields} if isinstance(dtype, pl.Struct) else None
    try:
        found, _ = _DECODER.raw_decode(text.lstrip(" \t\r\n"))
    except (ValueError, RecursionError):
        return None if not text.strip() else empty
    made = _as(found, dtype)
    return empty if made is _NOTHING or made is None else made


def _as(value: Any, dtype: pl.DataType) -> Any:
    """A value of JSON as one of the type; `_NOTHING` where it is another."""
    if value is None:
        return None
    if isinstance(dtype, pl.Struct):
        if not isinstance(value, dict):
            return _NOTHING
        made = {}
        for field in dtype.fields:
            each = _as(value.get(field.name), instance(field.dtype))
            made[field.name] = None if each is _NOTHING else each
        return made
    if isinstance(dtype, pl.List):
        if not isinstance(value, list):
            return _NOTHING
        items = [_as(item, instance(dtype.inner)) for item in value]
        return _NOTHING if any(item is _NOTHING for item in items) else items
    if dtype == STRING:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if dtype == BOOLEAN:
        return value if isinstance(value, bool) else _NOTHING
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _NOTHING
    if is_integral(dtype):
        low, high = RANGES[dtype]
        return value if isinstance(value, int) and low <= value <= high else _NOTHING
    return float(value)


def _bind_to(args: tuple[Expr, ...]) -> Expr:
    count("to_json", args, 1, 1)
    if not isinstance(args[0].dtype, pl.Struct | pl.List):
        raise BadArguments(
            f"to_json takes a struct or an array, not {type_name(args[0].dtype)}; write to_json(struct(x))"
        )
    _check(args[0].dtype)
    return Call("to_json", args, STRING)


def _check(dtype: pl.DataType) -> None:
    if isinstance(dtype, pl.Struct):
        for field in dtype.fields:
            _check(instance(field.dtype))
    elif isinstance(dtype, pl.List):
        _check(instance(dtype.inner))
    elif dtype in (BINARY, INTERVAL, FLOAT):
        raise BadArguments(f"to_json can't write {type_name(dtype)}; cast it to a text or a number first")


def _written(value: Any, dtype: pl.DataType) -> str:
    if isinstance(dtype, pl.Struct):
        fields = ((f.name, value[f.name], instance(f.dtype)) for f in dtype.fields)
        shown = (f"{json.dumps(n, ensure_ascii=False)}:{_written(v, t)}" for n, v, t in fields if v is not None)
        return "{" + ",".join(shown) + "}"
    if value is None:
        return "null"
    if isinstance(dtype, pl.List):
        return "[" + ",".join(_written(v, instance(dtype.inner)) for v in value) + "]"
    if isinstance(value, float):
        return _number(value)
    if dtype == TIMESTAMP:
        return f'"{value.isoformat(timespec="milliseconds")}Z"'
    if dtype == pl.Date():
        return f'"{value.isoformat()}"'
    return json.dumps(value, ensure_ascii=False)


def _number(value: float) -> str:
    """A DOUBLE as Java writes it."""
    if math.isnan(value) or math.isinf(value):
        return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = repr(value)
        return text if "e" not in text else f"{value:f}"
    digits, _, exponent = f"{value!r}".partition("e")
    if not exponent:  # Python goes on to 1e16 without one
        size = len(digits.lstrip("-").partition(".")[0].lstrip("0"))
        power = size - 1 if size else -len(re.match(r"-?0\.(0*)", digits)[1]) - 1  # type: ignore[index]  # it is less than 1
        bare = digits.lstrip("-").replace(".", "").strip("0") or "0"
        digits = ("-" if value < 0 else "") + bare[0] + "." + (bare[1:] or "0")
        exponent = str(power)
    if "." not in digits:
        digits += ".0"
    return f"{digits}E{int(exponent)}"


def _to(call: Call, value: pl.Expr) -> pl.Expr:
    dtype = call.args[0].dtype
    return rowwise(lambda v: _written(v, dtype), STRING, value)


def _from(call: Call, text: pl.Expr, schema: pl.Expr) -> pl.Expr:
    dtype = call.dtype

    def apply(column: pl.Series) -> pl.Series:
        made = [None if t is None else _read(t, dtype) for t in column.to_list()]
        return pl.Series(column.name, made, dtype=dtype)

    return calling(text, apply, dtype)


FUNCTIONS: Final = (
    Function(
        "from_json", "from_json(json, schema)",
        "The struct or the array that a JSON text says, by a constant schema such as 'a INT, b ARRAY<STRING>'.",
        "from_json('{\"a\": 1}', 'a INT').a = 1", _bind_from, strict(_from), "from_json({0}, {1})",
    ),
    Function(
        "to_json", "to_json(struct or array) -> STRING", "As a JSON text, without fields that are NULL.",
        "to_json(named_struct('a', 1, 'b', 'x')) = '{\"a\":1,\"b\":\"x\"}'", _bind_to, strict(_to), "to_json({0})",
    ),
)  # fmt: skip
