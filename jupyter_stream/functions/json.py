"""Values out of JSON text by path."""

from __future__ import annotations

import re
from typing import Final

import polars as pl

from jupyter_stream.functions.binding import argument, constant, count
from jupyter_stream.functions.expression import Call, Expr, Literal
from jupyter_stream.functions.function import BadArguments, Function, strict
from jupyter_stream.functions.types import STRING

_PATH: Final = re.compile(r"\$(?:\.[A-Za-z_][A-Za-z_0-9]*|\[[0-9]+\])+")


def _bind(args: tuple[Expr, ...]) -> Expr:
    count("get_json_object", args, 2, 2)
    text, path = (argument("get_json_object", i, a, STRING) for i, a in enumerate(args))
    path = constant("get_json_object", 1, path)
    if path.value is not None and not _PATH.fullmatch(str(path.value)):
        raise BadArguments(f"{path.value!r} is no path of the form $.name.name[0]")
    return Call("get_json_object", (text, path), STRING)


def _get(call: Call, text: pl.Expr, _: pl.Expr) -> pl.Expr:
    path = call.args[1]
    assert isinstance(path, Literal)
    return pl.lit(None, dtype=STRING) if path.value is None else text.str.json_path_match(str(path.value))


FUNCTIONS: Final = (
    Function(
        "get_json_object", "get_json_object(json, path) -> STRING",
        "What is at a constant path such as $.a.b[0], as text; NULL if nothing is.",
        "get_json_object('{\"a\": [1, 2]}', '$.a[1]') = '2'", _bind, strict(_get), "get_json_object({0}, {1})",
    ),
)  # fmt: skip
