"""Functions of structs: their fields, and structs of values."""

from __future__ import annotations

from typing import Final

import polars as pl

from jupyter_stream.core.schema import type_name
from jupyter_stream.functions.binding import admit, count
from jupyter_stream.functions.expression import Call, Column, Expr, Literal
from jupyter_stream.functions.function import BadArguments, Function, eager, strict
from jupyter_stream.functions.types import STRING, instance


def _name(function: str, expr: Expr) -> Literal:
    if isinstance(expr, Literal) and isinstance(expr.value, str):
        return expr
    raise BadArguments(f"{function} takes names of fields as texts, such as 'a'")


def _bind_field(args: tuple[Expr, ...]) -> Expr:
    count("get_field", args, 2, 2)
    struct, name = args[0], _name("get_field", args[1])
    if not isinstance(struct.dtype, pl.Struct):
        raise BadArguments(f"get_field takes a struct, not {type_name(struct.dtype)}")
    types = {f.name: instance(f.dtype) for f in struct.dtype.fields}
    if str(name.value) not in types:
        raise BadArguments(f"this STRUCT has no field {name.value}")
    return Call("get_field", (struct, name), types[str(name.value)])


def _field(call: Call, struct: pl.Expr, _: pl.Expr) -> pl.Expr:
    name = call.args[1]
    assert isinstance(name, Literal)
    return struct.struct.field(str(name.value))


def _bind_struct(args: tuple[Expr, ...]) -> Expr:
    count("named_struct", args, 2)
    if len(args) % 2:
        raise BadArguments("named_struct takes a name and a value, a name and a value, ...")
    names = [_name("named_struct", a) for a in args[::2]]
    values = [admit(a) for a in args[1::2]]
    if len({str(n.value).lower() for n in names}) < len(names):
        raise BadArguments("two fields of a struct have one name")
    pairs = tuple(x for pair in zip(names, values, strict=True) for x in pair)
    fields = [pl.Field(str(n.value), v.dtype) for n, v in zip(names, values, strict=True)]
    return Call("named_struct", pairs, pl.Struct(fields))


def _bind_plain(args: tuple[Expr, ...]) -> Expr:
    """Fields have the names of columns and of fields of structs, others are called col1, col2, ...; as in Spark."""
    count("struct", args, 1)
    named: list[Expr] = []
    for number, value in enumerate(args, 1):
        name = f"col{number}"
        if isinstance(value, Column):
            name = value.name
        elif isinstance(value, Call) and value.function == "get_field" and isinstance(value.args[1], Literal):
            name = str(value.args[1].value)
        named += [Literal(name, STRING), value]
    return _bind_struct(tuple(named))


def _struct(call: Call, *parts: pl.Expr) -> pl.Expr:
    names = [str(n.value) for n in call.args[::2] if isinstance(n, Literal)]
    types = [v.dtype for v in call.args[1::2]]
    return pl.struct(v.cast(t).alias(n) for v, n, t in zip(parts[1::2], names, types, strict=True))


def _spark_field(call: Call, args: tuple[str, ...]) -> str:
    name = call.args[1]
    assert isinstance(name, Literal)
    return f"{args[0]}.`{name.value}`"


FUNCTIONS: Final = (
    Function(
        "get_field", "get_field(struct, name)", "A field of a struct; also written struct.name.",
        "get_field(named_struct('a', 1), 'a') = 1", _bind_field, strict(_field), _spark_field,
    ),
    Function(
        "struct", "struct(value, ...) -> STRUCT", "A struct of values, with the names of columns.",
        "struct(1, 'x') = {'col1': 1, 'col2': 'x'}", _bind_plain,
    ),
    Function(
        "row", "row(value, ...) -> STRUCT", "A struct of values, as struct.", "row(1, 'x') = {'col1': 1, 'col2': 'x'}",
        _bind_plain,
    ),
    Function(
        "named_struct", "named_struct(name, value, ...) -> STRUCT", "A struct of values.",
        "named_struct('a', 1, 'b', 'x') = {'a': 1, 'b': 'x'}", _bind_struct, eager(_struct),
        lambda call, args: f"named_struct({', '.join(args)})",
    ),
)  # fmt: skip
