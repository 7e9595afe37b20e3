"""Several arrays: as sets, and item by item. Other functions of arrays are in `arrays`."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, Final

import polars as pl

from jupyter_stream.core.schema import type_name
from jupyter_stream.functions.binding import count
from jupyter_stream.functions.casts import cast
from jupyter_stream.functions.elementwise import rowwise
from jupyter_stream.functions.expression import Call, Column, Expr
from jupyter_stream.functions.function import BadArguments, Bind, names_of, strict
from jupyter_stream.functions.rows import row
from jupyter_stream.functions.types import VOID, common_type, instance


def _bind_pair(name: str) -> Bind:
    """Two arrays of one type, and of that type."""

    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 2, 2)
        for arg in args:
            if not isinstance(arg.dtype, pl.List):
                raise BadArguments(f"{name} takes an array, not {type_name(arg.dtype)}")
        common = common_type(a.dtype for a in args)
        if common is None or any(a.dtype != common and instance(a.dtype.inner) != VOID for a in args):  # type: ignore[attr-defined]  # all are lists
            raise BadArguments(f"{name} takes two arrays of one type, not {names_of([a.dtype for a in args])}")
        return Call(name, tuple(cast(a, common) for a in args), common)

    return bind


def _union(call: Call, one: pl.Expr, other: pl.Expr) -> pl.Expr:
    return pl.concat_list(one, other).list.unique(maintain_order=True)


def _difference(call: Call, one: pl.Expr, other: pl.Expr) -> pl.Expr:
    # an intersection keeps the first one's order, a difference may not
    return one.list.unique(maintain_order=True).list.set_intersection(one.list.set_difference(other))


def _bind_zip(args: tuple[Expr, ...]) -> Expr:
    count("arrays_zip", args, 1)
    for arg in args:
        if not isinstance(arg.dtype, pl.List):
            raise BadArguments(f"arrays_zip takes arrays, not {type_name(arg.dtype)}")
    inner = [instance(a.dtype.inner) for a in args if isinstance(a.dtype, pl.List)]
    names = [a.name if isinstance(a, Column) else str(i) for i, a in enumerate(args)]
    if len({n.lower() for n in names}) < len(names):
        names = [str(i) for i in range(len(names))]
    return Call("arrays_zip", args, pl.List(pl.Struct([pl.Field(n, d) for n, d in zip(names, inner, strict=True)])))


def _zipped(call: Call, *arrays: pl.Expr) -> pl.Expr:
    item = instance(call.dtype.inner) if isinstance(call.dtype, pl.List) else None
    assert isinstance(item, pl.Struct)
    fields = [f.name for f in item.fields]

    def items(*given: list[Any]) -> list[dict[str, Any]]:
        return [dict(zip(fields, values, strict=True)) for values in zip_longest(*given)]

    return rowwise(items, call.dtype, *arrays)


FUNCTIONS: Final = (
    row(
        "arrays_zip(array, ...) -> ARRAY",
        "STRUCTs of the first items, of the second ones, and so on; NULL behind an array's end.",
        "size(arrays_zip(array(1, 2), array('a'))) = 2", _bind_zip, strict(_zipped),
    ),
    row(
        "array_union(array, array) -> ARRAY", "The items of both, each once.",
        "array_union(array(2, 1), array(3, 2)) = [2, 1, 3]",
        _bind_pair("array_union"), strict(_union),
    ),
    row(
        "array_intersect(array, array) -> ARRAY", "The first one's items that are in the second, each once.",
        "array_intersect(array(2, 1, 2), array(3, 2)) = [2]", _bind_pair("array_intersect"),
        strict(lambda call, one, other: one.list.set_intersection(other)),
    ),
    row(
        "array_except(array, array) -> ARRAY", "The first one's items that aren't in the second, each once.",
        "array_except(array(2, 1, 2), array(3, 2)) = [1]", _bind_pair("array_except"), strict(_difference),
    ),
)  # fmt: skip
