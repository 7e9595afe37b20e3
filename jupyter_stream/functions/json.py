"""JSON texts: values by path, lengths of arrays, keys of objects."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import polars as pl

from jupyter_stream.functions.binding import argument, constant, count, takes
from jupyter_stream.functions.elementwise import rowwise
from jupyter_stream.functions.expression import Call, Expr, Literal
from jupyter_stream.functions.function import BadArguments, Function, strict
from jupyter_stream.functions.rows import row
from jupyter_stream.functions.types import INT, STRING

_PATH: Final = re.compile(r"\$(?:\.[A-Za-z_][A-Za-z_0-9]*|\[[0-9]+\])+")


def _no_number(word: str) -> None:
    raise ValueError(f"JSON has no {word}")


def _bind(args: tuple[Expr, ...]) -> Expr:
    count("get_json_object", args, 2, 2)
    text, path = (argument("get_json_object", i, a, STRING) for i, a in enumerate(args))
    path = constant("get_json_object", 1, path)
    if path.value is not None and not _PATH.fullmatch(str(path.value)):
        raise BadArguments(f"{path.value!r} is not a path such as $.name.name[0]")
    return Call("get_json_object", (text, path), STRING)


def _get(call: Call, text: pl.Expr, _: pl.Expr) -> pl.Expr:
    path = call.args[1]
    assert isinstance(path, Literal)
    return pl.lit(None, dtype=STRING) if path.value is None else text.str.json_path_match(str(path.value))


_DECODER: Final = json.JSONDecoder(object_pairs_hook=lambda pairs: tuple(pairs), parse_constant=_no_number)


def _outer(text: str, kind: type) -> Any:
    """The outermost array (a list) or object (a tuple of pairs) of a text; None where there is none."""
    try:
        found, _ = _DECODER.raw_decode(text.lstrip(" \t\r\n"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, kind) else None


def _length(text: str) -> int | None:
    found = _outer(text, list)
    return None if found is None else len(found)


def _keys(text: str) -> list[str] | None:
    found = _outer(text, tuple)
    return None if found is None else [key for key, _ in found]


FUNCTIONS: Final = (
    row(
        "json_array_length(json) -> INT", "How many items the outermost array has; NULL if there is none.",
        "json_array_length('[1, 2]') = 2", takes("json_array_length", STRING, result=INT),
        strict(lambda call, text: rowwise(_length, INT, text)),
    ),
    row(
        "json_object_keys(json) -> ARRAY<STRING>", "The keys of the outermost object; NULL if there is none.",
        "json_object_keys('{\"a\": 1, \"b\": 2}') = ['a', 'b']", takes("json_object_keys", STRING, result=pl.List(STRING)),
        strict(lambda call, text: rowwise(_keys, pl.List(STRING), text)),
    ),
    Function(
        "get_json_object", "get_json_object(json, path) -> STRING",
        "What is at a constant path such as $.a.b[0], as text; NULL if nothing is.",
        "get_json_object('{\"a\": [1, 2]}', '$.a[1]') = '2'", _bind, strict(_get), "get_json_object({0}, {1})",
    ),
)  # fmt: skip
