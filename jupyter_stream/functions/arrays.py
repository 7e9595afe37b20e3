"""Functions of arrays."""

from __future__ import annotations

from typing import Final

import polars as pl

from jupyter_stream.core.schema import type_name
from jupyter_stream.functions.binding import admit, argument, constant, count, together
from jupyter_stream.functions.casts import cast
from jupyter_stream.functions.expression import Call, Expr, Literal
from jupyter_stream.functions.function import BadArguments, Bind, Compiled, Failure, Function, eager, strict
from jupyter_stream.functions.types import BIGINT, BOOLEAN, INT, STRING, common_type, instance


def _array(name: str, expr: Expr) -> tuple[Expr, pl.DataType]:
    if not isinstance(expr.dtype, pl.List):
        raise BadArguments(f"{name} takes an array, not {type_name(expr.dtype)}")
    return expr, instance(expr.dtype.inner)


def _bind_array(args: tuple[Expr, ...]) -> Expr:
    count("array", args, 1)
    made = together("array", args)
    return Call("array", made, pl.List(made[0].dtype))


def _bind_size(args: tuple[Expr, ...]) -> Expr:
    count("size", args, 1, 1)
    return Call("size", (_array("size", args[0])[0],), INT)


def _bind_contains(args: tuple[Expr, ...]) -> Expr:
    count("array_contains", args, 2, 2)
    array, inner = _array("array_contains", args[0])
    value = admit(args[1])
    if common_type((inner, value.dtype)) != inner:
        raise BadArguments(f"an {type_name(array.dtype)} can't contain {type_name(value.dtype)}")
    return Call("array_contains", (array, cast(value, inner)), BOOLEAN)


def _contains(call: Call, array: pl.Expr, value: pl.Expr) -> pl.Expr:
    found = array.list.contains(value, nulls_equal=False)
    found = pl.when(found).then(True).when(array.list.drop_nulls().list.len() == array.list.len()).then(False)
    return pl.when(array.is_not_null() & value.is_not_null()).then(found)


def _bind_item(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 2, 2)
        array, inner = _array(name, args[0])
        return Call(name, (array, argument(name, 1, args[1], INT)), inner)

    return bind


def _element_at(call: Call, array: pl.Expr, index: pl.Expr) -> Compiled:
    size = array.list.len().cast(BIGINT)
    outside = ((index == 0) | (index.cast(BIGINT).abs() > size)) & array.is_not_null()
    place = pl.when(index > 0).then(index - 1).otherwise(index)
    failure = Failure(outside, "element_at counts from 1 up to the array's size, or from -1 at its end")
    return Compiled(array.list.get(place, null_on_oob=True), (failure,))


def _get(call: Call, array: pl.Expr, index: pl.Expr) -> pl.Expr:
    return pl.when(index >= 0).then(array.list.get(index.clip(0), null_on_oob=True))


def _bind_join(args: tuple[Expr, ...]) -> Expr:
    count("array_join", args, 2, 2)
    array, inner = _array("array_join", args[0])
    if inner != STRING:
        raise BadArguments(f"array_join takes an ARRAY<STRING>, not {type_name(array.dtype)}")
    return Call("array_join", (array, constant("array_join", 1, argument("array_join", 1, args[1], STRING))), STRING)


def _join(call: Call, array: pl.Expr, separator: pl.Expr) -> pl.Expr:
    known = call.args[1]
    if not isinstance(known, Literal) or not isinstance(known.value, str):
        return pl.lit(None, dtype=STRING)
    return array.list.join(known.value, ignore_nulls=True)


FUNCTIONS: Final = (
    Function(
        "array", "array(a, b, ...) -> ARRAY", "An array of these.", "array(1, 2) = [1, 2]", _bind_array,
        eager(lambda call, *values: pl.concat_list(values)), lambda call, args: f"array({', '.join(args)})",
    ),
    Function(
        "size", "size(array) -> INT", "How many items; NULL of NULL.", "size(array(1, 2)) = 2", _bind_size,
        strict(lambda call, a: a.list.len().cast(INT)), "size({0})",
    ),
    Function(
        "cardinality", "cardinality(array) -> INT", "How many items, as size.", "cardinality(array(1, 2)) = 2",
        _bind_size,
    ),
    Function(
        "array_size", "array_size(array) -> INT", "How many items, as size.", "array_size(array(1, 2)) = 2",
        _bind_size,
    ),
    Function(
        "array_contains", "array_contains(array, value) -> BOOLEAN", "Whether an item equals the value.",
        "array_contains(array(1, 2), 2) is true", _bind_contains, strict(_contains), "array_contains({0}, {1})",
    ),
    Function(
        "element_at", "element_at(array, number)",
        "The n-th item, from the end if negative; an error if there is none.", "element_at(array(1, 2), -1) = 2",
        _bind_item("element_at"), strict(_element_at), "element_at({0}, {1})",
    ),
    Function(
        "get", "get(array, index)", "The item at an index from 0; NULL if there is none.", "get(array(1, 2), 0) = 1",
        _bind_item("get"), strict(_get), "get({0}, {1})",
    ),
    Function(
        "array_join", "array_join(array, separator) -> STRING",
        "The strings that are not NULL, with a constant separator between.",
        "array_join(split('a,b', ','), '-') = 'a-b'", _bind_join, strict(_join), "array_join({0}, {1})",
    ),
)  # fmt: skip
