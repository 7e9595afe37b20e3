"""Functions of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from jupyter_stream.core.schema import type_name
from jupyter_stream.functions.binding import admit, argument, count, item_number, together
from jupyter_stream.functions.casts import cast
from jupyter_stream.functions.elementwise import calling, rowwise
from jupyter_stream.functions.expression import Call, Expr, Literal
from jupyter_stream.functions.function import BadArguments, Bind, Compiled, Failure, Function, eager, names_of, strict
from jupyter_stream.functions.maps import bind_get, types_of
from jupyter_stream.functions.rows import row
from jupyter_stream.functions.types import BIGINT, BOOLEAN, INT, STRING, VOID, common_type, instance, is_integral

MOST_ITEMS: Final = 1_000_000
"""Items an array may have that a function makes longer than what it was given."""
TOO_MANY: Final = f"an array may not be made longer than {MOST_ITEMS:,} items"


def _array(name: str, expr: Expr) -> tuple[Expr, pl.DataType]:
    if not isinstance(expr.dtype, pl.List):
        raise BadArguments(f"{name} takes an array, not {type_name(expr.dtype)}")
    return expr, instance(expr.dtype.inner)


def _bind_array(args: tuple[Expr, ...]) -> Expr:
    count("array", args, 1)
    made = together("array", args)
    if isinstance(made[0].dtype, pl.List):
        raise BadArguments("array takes values, not arrays, in this version")
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
        of_map = types_of(args[0].dtype)
        if of_map is not None and (is_integral(of_map[0]) or not is_integral(args[1].dtype)):
            return bind_get("element_at", args[0], args[1])
        array, inner = _array(name, args[0])
        return Call(name, (array, item_number(name, 1, args[1])), inner)

    return bind


def _element_at(call: Call, array: pl.Expr, index: pl.Expr) -> Compiled:
    size = array.list.len().cast(BIGINT)
    outside = ((index == 0) | (index.cast(BIGINT).abs() > size)) & array.is_not_null()
    place = pl.when(index > 0).then(index - 1).otherwise(index)
    failure = Failure(outside, "the array has no item of this number: element_at counts from 1, or from -1 at the end")
    return Compiled(array.list.get(place, null_on_oob=True), (failure,))


def _item(call: Call, array: pl.Expr, index: pl.Expr) -> Compiled:
    outside = ((index < 0) | (index.cast(BIGINT) >= array.list.len().cast(BIGINT))) & array.is_not_null()
    failure = Failure(outside, "the array has no item of this number: items count from 0; get(array, index) gives NULL")
    return Compiled(array.list.get(index.clip(0), null_on_oob=True), (failure,))


def _get(call: Call, array: pl.Expr, index: pl.Expr) -> pl.Expr:
    return pl.when(index >= 0).then(array.list.get(index.clip(0), null_on_oob=True))


def _bind_join(args: tuple[Expr, ...]) -> Expr:
    count("array_join", args, 2, 2)
    array, inner = _array("array_join", args[0])
    if inner != STRING:
        raise BadArguments(f"array_join takes an ARRAY<STRING>, not {type_name(array.dtype)}")
    return Call("array_join", (array, argument("array_join", 1, args[1], STRING)), STRING)


def _join(call: Call, array: pl.Expr, separator: pl.Expr) -> pl.Expr:
    known = call.args[1]
    if not isinstance(known, Literal):
        return array.list.join(separator, ignore_nulls=True)
    if not isinstance(known.value, str):
        return pl.lit(None, dtype=STRING)
    return array.list.join(known.value, ignore_nulls=True)


def _bind_with(name: str, result: pl.DataType | None) -> Bind:
    """An array and a value of its items' type; of the array's type unless `result` says another."""

    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 2, 2)
        array, inner = _array(name, args[0])
        value = admit(args[1])
        wanted = common_type((inner, value.dtype))
        if wanted != inner:
            raise BadArguments(
                f"{name} of an {type_name(array.dtype)} takes {type_name(inner)}, not {type_name(value.dtype)}"
            )
        return Call(name, (array, cast(value, inner)), result or array.dtype)

    return bind


def _appended(call: Call, array: pl.Expr, value: pl.Expr) -> pl.Expr:
    parts = (array, value) if call.function == "array_append" else (value, array)
    return pl.when(array.is_not_null()).then(pl.concat_list(parts))


def _bind_same(name: str) -> Bind:
    """An array alone, and of its type."""

    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 1, 1)
        array, _ = _array(name, args[0])
        return Call(name, (array,), array.dtype)

    return bind


def _bind_item_of(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 1, 1)
        array, inner = _array(name, args[0])
        return Call(name, (array,), inner)

    return bind


def _extreme(call: Call, array: pl.Expr) -> pl.Expr:
    items = array.list.drop_nulls()
    if call.function == "array_min":
        return items.list.sort().list.first()  # NaN is the greatest
    return items.list.sort().list.last()


def _insert(call: Call, array: pl.Expr, place: pl.Expr, value: pl.Expr) -> Compiled:
    # Polars puts no item into a list
    made = calling((array, place, value), lambda columns: inserted(columns, call.dtype), call.dtype)
    given = array.is_not_null() & place.is_not_null()
    far = place.cast(BIGINT).abs() > MOST_ITEMS
    return Compiled(
        made,
        (Failure(given & (place == 0), "the items of an array count from 1, or from -1 at the end"),
         Failure(given & far, TOO_MANY)),
    )  # fmt: skip


def inserted(columns: Sequence[pl.Series], dtype: pl.DataType) -> pl.Series:
    """Arrays with a value put in, row by row; a column may be of one row."""
    size = max(len(c) for c in columns) if all(len(c) for c in columns) else 0
    lists = [c.to_list() if len(c) == size else c.to_list() * size for c in columns]
    made = [_inserted(*row) for row in zip(*lists, strict=True)]
    return pl.Series(columns[0].name, made, dtype=dtype)


def _inserted(array: list[object] | None, place: int | None, value: object) -> list[object] | None:
    if array is None or place is None or place == 0 or abs(place) > MOST_ITEMS:
        return None
    if place > 0:
        missing = place - 1 - len(array)
        return [*array, *[None] * missing, value] if missing >= 0 else [*array[: place - 1], value, *array[place - 1 :]]
    at = len(array) + place + 1
    return [*array[:at], value, *array[at:]] if at >= 0 else [value, *[None] * -at, *array]


def _bind_insert(args: tuple[Expr, ...]) -> Expr:
    count("array_insert", args, 3, 3)
    array, inner = _array("array_insert", args[0])
    value = admit(args[2])
    if common_type((inner, value.dtype)) != inner:
        raise BadArguments(
            f"array_insert into an {type_name(array.dtype)} takes {type_name(inner)}, not {type_name(value.dtype)}"
        )
    return Call("array_insert", (array, argument("array_insert", 1, args[1], INT), cast(value, inner)), array.dtype)


def _bind_sequence(args: tuple[Expr, ...]) -> Expr:
    count("sequence", args, 2, 3)
    made = together("sequence", args)
    if not is_integral(made[0].dtype):
        raise BadArguments(f"sequence takes integers, not {type_name(made[0].dtype)}")
    return Call("sequence", made, pl.List(made[0].dtype))


def _sequence(call: Call, start: pl.Expr, stop: pl.Expr, step: pl.Expr | None = None) -> Compiled:
    start, stop = (x.cast(pl.Int128) for x in (start, stop))
    step = pl.when(start <= stop).then(1).otherwise(-1).cast(pl.Int128) if step is None else step.cast(pl.Int128)
    size = pl.when(step == 0).then(0).otherwise((stop - start) // pl.when(step == 0).then(1).otherwise(step)) + 1
    wrong = ((step > 0) & (stop < start)) | ((step < 0) & (stop > start)) | ((step == 0) & (stop != start))
    given = start.is_not_null() & stop.is_not_null() & step.is_not_null()
    fits = given & ~wrong & (size <= MOST_ITEMS)
    count_ = pl.when(fits).then(size).otherwise(0).cast(BIGINT)
    kept_start, kept_step = (pl.when(fits).then(x).otherwise(0).cast(BIGINT) for x in (start, step))
    places = pl.int_ranges(0, count_)
    made = places * kept_step + kept_start
    failures = (
        Failure(given & wrong, "sequence can't reach its end with this step"),
        Failure(given & ~wrong & (size > MOST_ITEMS), TOO_MANY),
    )
    return Compiled(pl.when(fits).then(made.cast(call.dtype)), failures)


def _bind_overlap(name: str, result: pl.DataType | None) -> Bind:
    """Two arrays of one type."""

    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 2, 2)
        for a in args:
            _array(name, a)
        common = common_type(a.dtype for a in args)
        if common is None or any(a.dtype != common and instance(a.dtype.inner) != VOID for a in args):  # type: ignore[attr-defined]  # all are lists
            raise BadArguments(f"{name} takes two arrays of one type, not {names_of([a.dtype for a in args])}")
        return Call(name, tuple(cast(a, common) for a in args), result or common)

    return bind


def _overlap(call: Call, a: pl.Expr, b: pl.Expr) -> pl.Expr:
    one, other = a.list.drop_nulls(), b.list.drop_nulls()
    found = one.list.set_intersection(other).list.len() > 0
    nulls = (one.list.len() < a.list.len()) | (other.list.len() < b.list.len())
    both = (a.list.len() > 0) & (b.list.len() > 0)
    return pl.when(found).then(True).when(~(nulls & both)).then(False)


def _position(call: Call, array: pl.Expr, value: pl.Expr) -> pl.Expr:
    def place(items: list[object], wanted: object) -> int:
        same = (i for i, item in enumerate(items, 1) if item == wanted or (item != item and wanted != wanted))
        return next(same, 0)

    return rowwise(place, BIGINT, array, value)  # Polars compares items with one value, not with a row's


def _removed(call: Call, array: pl.Expr, value: pl.Expr) -> pl.Expr:
    def kept(items: list[object], unwanted: object) -> list[object]:
        return [i for i in items if i != unwanted and not (i != i and unwanted != unwanted)]

    return rowwise(kept, call.dtype, array, value)  # as above


def _bind_slice(args: tuple[Expr, ...]) -> Expr:
    count("slice", args, 3, 3)
    array, _ = _array("slice", args[0])
    return Call("slice", (array, argument("slice", 1, args[1], INT), argument("slice", 2, args[2], INT)), array.dtype)


def _slice(call: Call, array: pl.Expr, start: pl.Expr, length: pl.Expr) -> Compiled:
    size = array.list.len().cast(BIGINT)
    first = pl.when(start > 0).then(start.cast(BIGINT) - 1).otherwise(size + start.cast(BIGINT))
    inside = (first >= 0) & (first < size) & (length > 0)
    part = array.list.slice(pl.when(inside).then(first).otherwise(0), pl.when(inside).then(length).otherwise(0))
    given = array.is_not_null() & start.is_not_null() & length.is_not_null()
    failures = (
        Failure(given & (start == 0), "the items of an array count from 1, or from -1 at the end"),
        Failure(given & (length < 0), "a slice has no negative length"),
    )
    return Compiled(pl.when(given).then(part), failures)


def _sorted(call: Call, array: pl.Expr) -> pl.Expr:
    return array.list.sort(nulls_last=call.function == "array_sort")


def _distinct(call: Call, array: pl.Expr) -> pl.Expr:
    return array.list.unique(maintain_order=True)


def _bind_repeat(args: tuple[Expr, ...]) -> Expr:
    count("array_repeat", args, 2, 2)
    value = admit(args[0])
    return Call("array_repeat", (value, argument("array_repeat", 1, args[1], INT)), pl.List(value.dtype))


def _repeat(call: Call, value: pl.Expr, times: pl.Expr) -> Compiled:
    fits = times <= MOST_ITEMS
    made = value.repeat_by(pl.when(fits).then(times.clip(0)))
    return Compiled(made, (Failure(~fits, TOO_MANY),))


def _bind_part(args: tuple[Expr, ...]) -> Expr:
    count("array_slice", args, 3, 3)
    whole = args[0]
    if not isinstance(whole.dtype, pl.List):
        whole = argument("array_slice", 0, whole, STRING)
    ends = [Literal(n, INT) if a == Literal(None, VOID) else a for a, n in zip(args[1:], (1, -1), strict=True)]
    return Call(
        "array_slice", (whole, *(argument("array_slice", i, e, INT) for i, e in enumerate(ends, 1))), whole.dtype
    )


def _part(call: Call, whole: pl.Expr, first: pl.Expr, last: pl.Expr) -> pl.Expr:
    of_text = call.dtype == STRING
    size = (whole.str.len_chars() if of_text else whole.list.len()).cast(BIGINT)
    low, high = (pl.when(n < 0).then(size + n.cast(BIGINT) + 1).otherwise(n.cast(BIGINT)) for n in (first, last))
    low = pl.max_horizontal(low, pl.lit(1))
    length = pl.max_horizontal(pl.min_horizontal(high, size) - low + 1, pl.lit(0))
    given = whole.is_not_null() & first.is_not_null() & last.is_not_null()
    return pl.when(given).then((whole.str if of_text else whole.list).slice(low - 1, length))


def _part_on_spark(call: Call, args: tuple[str, ...]) -> str:
    whole, first, last = args
    of_text = call.dtype == STRING
    size = f"char_length({whole})" if of_text else f"size({whole})"
    low, high = (f"IF({n} < 0, {size} + {n} + 1, {n})" for n in (first, last))
    low = f"greatest({low}, 1)"
    made = f"{'substring' if of_text else 'slice'}({whole}, {low}, greatest(least({high}, {size}) - {low} + 1, 0))"
    return f"CASE WHEN {whole} IS NOT NULL AND {first} IS NOT NULL AND {last} IS NOT NULL THEN {made} END"


FUNCTIONS: Final = (
    Function(
        "array_slice", "array_slice(array, first, last) -> ARRAY",
        "The items, or the characters of a text, from a place to another, from 1, or from -1 at the end; written array[2:3].",
        "array(1, 2, 3)[2:] = [2, 3]", _bind_part, strict(_part), _part_on_spark,
    ),
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
        "[]", "array[index]", "The item at an index from 0; an error if there is none.", "array(1, 2)[0] = 1",
        _bind_item("[]"), strict(_item), "{0}[{1}]",
    ),
    Function(
        "get", "get(array, index)", "The item at an index from 0; NULL if there is none.", "get(array(1, 2), 0) = 1",
        _bind_item("get"), strict(_get), "get({0}, {1})",
    ),
    Function(
        "array_join", "array_join(array, separator) -> STRING",
        "The strings that are not NULL, with a separator between.",
        "array_join(split('a,b', ','), '-') = 'a-b'", _bind_join, strict(_join), "array_join({0}, {1})",
    ),
    row(
        "array_append(array, value) -> ARRAY", "With the value behind all items.", "array_append(array(1, 2), 3) = [1, 2, 3]",
        _bind_with("array_append", None), strict(_appended),
    ),
    row(
        "array_prepend(array, value) -> ARRAY", "With the value before all items.", "array_prepend(array(1, 2), 0) = [0, 1, 2]",
        _bind_with("array_prepend", None), strict(_appended),
    ),
    row(
        "array_compact(array) -> ARRAY", "Without NULLs.", "array_compact(array(1, NULL, 2)) = [1, 2]",
        _bind_same("array_compact"), strict(lambda call, a: a.list.drop_nulls()),
    ),
    row(
        "array_insert(array, place, value) -> ARRAY",
        "With the value at a place from 1, or from -1 at the end; NULLs fill what is between.",
        "array_insert(array(1, 3), 2, 2) = [1, 2, 3]", _bind_insert, strict(_insert),
    ),
    row(
        "sequence(start, stop[, step]) -> ARRAY", "Integers from start to stop, both included.", "sequence(1, 7, 3) = [1, 4, 7]",
        _bind_sequence, strict(_sequence),
    ),
    row(
        "arrays_overlap(array, array) -> BOOLEAN", "Whether they have an item in common; NULL if only a NULL could be it.",
        "arrays_overlap(array(1, 2), array(2, 3)) is true", _bind_overlap("arrays_overlap", BOOLEAN), strict(_overlap),
    ),
    row(
        "array_position(array, value) -> BIGINT", "Where the value first is, from 1; 0 if nowhere.",
        "array_position(array('a', 'b'), 'b') = 2", _bind_with("array_position", BIGINT), strict(_position),
    ),
    row(
        "array_remove(array, value) -> ARRAY", "Without the items that equal the value.", "array_remove(array(1, 2, 1), 1) = [2]",
        _bind_with("array_remove", None), strict(_removed),
    ),
    row(
        "slice(array, start, length) -> ARRAY", "So many items from a place, from 1, or from -1 at the end.",
        "slice(array(1, 2, 3), 2, 2) = [2, 3]", _bind_slice, strict(_slice),
    ),
    row(
        "array_max(array)", "The greatest item that is not NULL; NaN is the greatest number.", "array_max(array(1, 3, 2)) = 3",
        _bind_item_of("array_max"), strict(_extreme),
    ),
    row(
        "array_min(array)", "The least item that is not NULL.", "array_min(array(3, 1, 2)) = 1", _bind_item_of("array_min"),
        strict(_extreme),
    ),
    row(
        "array_sort(array) -> ARRAY", "In ascending order, NULLs behind.", "array_sort(array(3, NULL, 1)) = [1, 3, None]",
        _bind_same("array_sort"), strict(_sorted),
    ),
    row(
        "sort_array(array) -> ARRAY", "In ascending order, NULLs first.", "sort_array(array(3, NULL, 1)) = [None, 1, 3]",
        _bind_same("sort_array"), strict(_sorted),
    ),
    row(
        "array_distinct(array) -> ARRAY", "Each value once, where it first is.", "array_distinct(array(2, 1, 2)) = [2, 1]",
        _bind_same("array_distinct"), strict(_distinct),
    ),
    row(
        "array_repeat(value, times) -> ARRAY", "An array of so many times the value.", "array_repeat('a', 2) = ['a', 'a']",
        _bind_repeat, eager(_repeat),
    ),
)  # fmt: skip
