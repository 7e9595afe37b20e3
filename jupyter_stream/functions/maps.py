"""Maps: arrays of entries, each a STRUCT of a `key` and a `value`. `map('a', 1)['a']`, `map_keys`, `map_filter` and others.

On Spark they are such arrays as well, since maps can be neither compared nor grouped by there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import polars as pl

from jupyter_stream.core.schema import type_name
from jupyter_stream.functions.binding import argument, count, together
from jupyter_stream.functions.casts import cast
from jupyter_stream.functions.elementwise import calling, rowwise
from jupyter_stream.functions.expression import Call, Column, Expr, LambdaBody, Literal, substitute
from jupyter_stream.functions.function import BadArguments, Bind, Compiled, Failure, Function, eager, strict
from jupyter_stream.functions.structs import FUNCTIONS as STRUCTS
from jupyter_stream.functions.types import BOOLEAN, STRING, VOID, common_type, instance

_NULL_KEY: Final = "a key of a map can't be NULL"
_TWICE: Final = "a map has a key once"
_BY_NAME: Final = {function.name: function for function in STRUCTS}


def map_type(key: pl.DataType, value: pl.DataType) -> pl.List:
    """The type of a map."""
    return pl.List(pl.Struct([pl.Field("key", key), pl.Field("value", value)]))


def types_of(dtype: pl.DataType) -> tuple[pl.DataType, pl.DataType] | None:
    """The types of a map's keys and values; None for anything else."""
    inner = instance(dtype.inner) if isinstance(dtype, pl.List) else None
    if not isinstance(inner, pl.Struct) or [f.name for f in inner.fields] != ["key", "value"]:
        return None
    return instance(inner.fields[0].dtype), instance(inner.fields[1].dtype)


def _map(name: str, expr: Expr) -> tuple[pl.DataType, pl.DataType]:
    found = types_of(expr.dtype)
    if found is None:
        raise BadArguments(f"{name} takes a map, not {type_name(expr.dtype)}; write map('a', 1)")
    return found


def field_of(entry: Expr, name: str) -> Expr:
    """The key or the value of an entry."""
    return _BY_NAME["get_field"].bind((entry, Literal(name, STRING)))


# -- made of keys and values


def _bind_map(args: tuple[Expr, ...]) -> Expr:
    count("map", args, 2)
    if len(args) % 2:
        raise BadArguments("map takes a key and a value, a key and a value, ...")
    keys, values = together("map", args[::2]), together("map", args[1::2])
    pairs = tuple(x for pair in zip(keys, values, strict=True) for x in pair)
    return Call("map", pairs, map_type(keys[0].dtype, values[0].dtype))


def _entry(key: pl.Expr, value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    types = types_of(dtype)
    assert types is not None
    return pl.struct(key.cast(types[0]).alias("key"), value.cast(types[1]).alias("value"))


def _checked(made: pl.Expr, given: pl.Expr | None = None) -> Compiled:
    """A map, with the failures of its keys."""
    keys = made.list.eval(pl.element().struct.field("key"))
    there = pl.lit(True) if given is None else given
    none = keys.list.eval(pl.element().is_null()).list.any().fill_null(False)
    twice = (keys.list.n_unique() < keys.list.len()).fill_null(False)
    return Compiled(made, (Failure(there & none, _NULL_KEY), Failure(there & twice & ~none, _TWICE)))


def _made(call: Call, *parts: pl.Expr) -> Compiled:
    entries = [_entry(k, v, call.dtype) for k, v in zip(parts[::2], parts[1::2], strict=True)]
    return _checked(pl.concat_list(entries))


def _bind_of_arrays(args: tuple[Expr, ...]) -> Expr:
    count("map_from_arrays", args, 2, 2)
    inner = []
    for arg in args:
        if not isinstance(arg.dtype, pl.List):
            raise BadArguments(f"map_from_arrays takes arrays, not {type_name(arg.dtype)}")
        inner.append(instance(arg.dtype.inner))
    return Call("map_from_arrays", args, map_type(*inner))


def _of_arrays(call: Call, keys: pl.Expr, values: pl.Expr) -> Compiled:
    def pairs(ks: list[object], vs: list[object]) -> list[dict[str, object]] | None:
        return [{"key": k, "value": v} for k, v in zip(ks, vs, strict=True)] if len(ks) == len(vs) else None

    made = _checked(rowwise(pairs, call.dtype, keys, values))
    apart = (keys.list.len() != values.list.len()).fill_null(False)
    return Compiled(made.value, (*made.failures, Failure(apart, "a map has as many values as keys")))


def _bind_text(args: tuple[Expr, ...]) -> Expr:
    count("str_to_map", args, 1, 3)
    given = (*args, *(Literal(sign, STRING) for sign in (",", ":")[len(args) - 1 :]))
    return Call(
        "str_to_map", tuple(argument("str_to_map", i, a, STRING) for i, a in enumerate(given)), map_type(STRING, STRING)
    )


def _of_text(call: Call, text: pl.Expr, between: pl.Expr, behind: pl.Expr) -> Compiled:
    def pairs(whole: str, one: str, other: str) -> list[dict[str, object]]:
        made: list[dict[str, object]] = []
        for part in whole.split(one) if one else [whole]:
            key, found, value = part.partition(other) if other else (part, "", "")
            made.append({"key": key, "value": value if found else None})
        return made

    return _checked(rowwise(pairs, call.dtype, text, between, behind))


# -- what is in it


def _bind_part(name: str, field: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 1, 1)
        types = _map(name, args[0])
        return Call(name, args, pl.List(types[field == "value"]))

    return bind


def _part(field: str) -> Callable[..., pl.Expr]:
    return lambda call, entries: entries.list.eval(pl.element().struct.field(field))


def _bind_entries(args: tuple[Expr, ...]) -> Expr:
    count("map_entries", args, 1, 1)
    _map("map_entries", args[0])
    return args[0]


def bind_get(name: str, whole: Expr, key: Expr) -> Expr:
    """The value of a key, NULL where there is none."""
    wanted, value = _map(name, whole)
    if key.dtype != VOID and common_type((wanted, key.dtype)) is None:
        raise BadArguments(f"{name} of a map with keys of {type_name(wanted)} can't take {type_name(key.dtype)}")
    return Call("map_get", (whole, cast(key, wanted)), value)


def _got(call: Call, whole: pl.Expr, key: pl.Expr) -> pl.Expr:
    def found(columns: Sequence[pl.Series]) -> pl.Series:
        size = max(len(c) for c in columns) if all(len(c) for c in columns) else 0
        entries, keys = (c if len(c) == size else c.new_from_index(0, size) if size else c.clear() for c in columns)
        frame = pl.DataFrame({"row": pl.int_range(size, eager=True), "entry": entries, "wanted": keys})
        flat = (
            frame.explode("entry").unnest("entry").filter(pl.col("key") == pl.col("wanted")).unique("row", keep="first")
        )
        joined = frame.select("row").join(flat.select("row", "value"), on="row", how="left", maintain_order="left")
        return joined.get_column("value").alias(columns[0].name)

    return calling((whole, key), found, call.dtype)


def _bind_contains(args: tuple[Expr, ...]) -> Expr:
    count("map_contains_key", args, 2, 2)
    wanted, _ = _map("map_contains_key", args[0])
    return Call("map_contains_key", (args[0], cast(args[1], wanted)), BOOLEAN)


def _contains(call: Call, whole: pl.Expr, key: pl.Expr) -> pl.Expr:
    found = whole.list.eval(pl.element().struct.field("key")).list.contains(key)
    return pl.when(whole.is_not_null() & key.is_not_null()).then(found)


# -- with lambdas


def _of_entry(name: str, args: tuple[Expr, ...]) -> tuple[Expr, tuple[Expr, ...], LambdaBody, Column]:
    """A map, what is captured, and a lambda of (key, value) over one parameter, the entry."""
    *before, last = args
    body = last.value if isinstance(last, Literal) else None
    if not isinstance(body, LambdaBody):
        raise BadArguments(f"{name} takes a lambda, such as (k, v) -> v > 0")
    inner = instance(args[0].dtype.inner)  # type: ignore[attr-defined]  # FORMS has looked
    entry = Column(f"{body.parameters[0].name} entry", inner)
    fields: dict[str, Expr] = {
        p.name: field_of(entry, f) for p, f in zip(body.parameters, ("key", "value"), strict=True)
    }
    return args[0], tuple(before[1:]), LambdaBody((entry,), body.captured, substitute(body.body, fields)), entry


def _bind_filter(args: tuple[Expr, ...]) -> Expr:
    whole, captured, body, _ = _of_entry("map_filter", args)
    if body.body.dtype not in (BOOLEAN, VOID):
        raise BadArguments(f"the lambda must give a BOOLEAN, not {type_name(body.body.dtype)}")
    return Call("filter", (whole, *captured, Literal(body, VOID)), whole.dtype)


def _bind_values(args: tuple[Expr, ...]) -> Expr:
    whole, captured, body, entry = _of_entry("transform_values", args)
    key, made = field_of(entry, "key"), body.body
    named = _BY_NAME["named_struct"].bind((Literal("key", STRING), key, Literal("value", STRING), made))
    changed = Literal(LambdaBody(body.parameters, body.captured, named), VOID)
    return Call("transform", (whole, *captured, changed), pl.List(named.dtype))


def _row(signature: str, description: str, example: str, bind: Bind) -> Function:
    return Function(signature.partition("(")[0], signature, description, example, bind)


FUNCTIONS: Final = (
    Function(
        "map", "map(key, value, ...) -> MAP", "A map: an array of STRUCTs of a key and a value. A key stands there once.",
        "map('a', 1)['a'] = 1", _bind_map, eager(_made), lambda call, args: f"map_entries(map({', '.join(args)}))",
    ),
    Function(
        "map_from_arrays", "map_from_arrays(keys, values) -> MAP", "A map of two arrays.",
        "map_from_arrays(array('a', 'b'), array(1, 2))['b'] = 2", _bind_of_arrays, strict(_of_arrays),
        "map_entries(map_from_arrays({0}, {1}))",
    ),
    Function(
        "str_to_map", "str_to_map(string[, between, behind]) -> MAP",
        "A map of a text, with signs between entries and behind keys.",
        "str_to_map('a:1,b:2')['b'] = '2'", _bind_text, strict(_of_text), only_here=lambda call: True,
    ),
    Function(
        "map_keys", "map_keys(map) -> ARRAY", "The keys.", "map_keys(map('a', 1, 'b', 2)) = ['a', 'b']",
        _bind_part("map_keys", "key"), strict(_part("key")), "transform({0}, entry -> entry.key)",
    ),
    Function(
        "map_values", "map_values(map) -> ARRAY", "The values.", "map_values(map('a', 1, 'b', 2)) = [1, 2]",
        _bind_part("map_values", "value"), strict(_part("value")), "transform({0}, entry -> entry.value)",
    ),
    _row(
        "map_entries(map) -> ARRAY", "The entries: STRUCTs of a key and a value.",
        "map_entries(map('a', 1)) = [{'key': 'a', 'value': 1}]", _bind_entries,
    ),
    Function(
        "map_get", "map_get(map, key)", "The value of a key, NULL where there is none; also map[key] and element_at(map, key).",
        "map_get(map('a', 1), 'a') = 1", lambda args: bind_get("map_get", *_two(args)), strict(_got),
        "map_from_entries({0})[{1}]",
    ),
    Function(
        "map_contains_key", "map_contains_key(map, key) -> BOOLEAN", "Whether it has the key.",
        "map_contains_key(map('a', 1), 'b') is false", _bind_contains, strict(_contains),
        "map_contains_key(map_from_entries({0}), {1})",
    ),
    _row(
        "map_filter(map, (key, value) -> condition) -> MAP", "The entries for which the condition is true.",
        "map_keys(map_filter(map('a', 1, 'b', 2), (k, v) -> v > 1)) = ['b']", _bind_filter,
    ),
    _row(
        "transform_values(map, (key, value) -> value) -> MAP", "Each value as what a lambda makes of its entry.",
        "map_values(transform_values(map('a', 1), (k, v) -> v * 10)) = [10]", _bind_values,
    ),
)  # fmt: skip


def _two(args: tuple[Expr, ...]) -> tuple[Expr, Expr]:
    count("map_get", args, 2, 2)
    return args[0], args[1]


__all__ = ["FUNCTIONS", "bind_get", "map_type", "types_of"]
