"""Functions that go through arrays with a lambda: `transform(xs, x -> x + 1)`, `filter`, `aggregate` and others.

The items of all rows are computed at once, as the column of a frame that has the lambda's parameters and what it takes from
around it; `aggregate` goes from place to place, for all rows at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.core.schema import type_name
from jupyter_stream.functions.casts import cast
from jupyter_stream.functions.elementwise import calling
from jupyter_stream.functions.expression import Call, Expr, LambdaBody, Literal
from jupyter_stream.functions.function import BadArguments, Compiled, Failure, Function, Kernel, inherited
from jupyter_stream.functions.types import BOOLEAN, INT, VOID, common_type, instance

_ROW: Final = "$row of items"


@dataclass(frozen=True, slots=True)
class Form:
    """How such a function is called: which arguments are arrays, and which types its lambdas' parameters have.

    Attributes:
        arrays: how many arrays come first.
        lambdas: for each lambda, the types of its parameters, of the types of the arguments before it and what the lambdas
            before it give; one that may be left out has fewer parameters than that.
    """

    arrays: int
    lambdas: tuple[Callable[[Sequence[pl.DataType]], tuple[pl.DataType, ...]], ...]


def _items_of(types: Sequence[pl.DataType], at: int = 0) -> pl.DataType:
    dtype = types[at]
    if not isinstance(dtype, pl.List):
        raise BadArguments(f"a lambda goes through an array, not {type_name(dtype)}")
    return instance(dtype.inner)


def _entry_of(types: Sequence[pl.DataType]) -> tuple[pl.DataType, ...]:
    inner = _items_of(types)
    fields = inner.fields if isinstance(inner, pl.Struct) else []
    if [f.name for f in fields] != ["key", "value"]:
        raise BadArguments(f"a lambda of a key and a value goes through a map, not {type_name(types[0])}")
    return tuple(instance(f.dtype) for f in fields)


_ENTRIES: Final = Form(1, (_entry_of,))
_EACH: Final = Form(1, (lambda types: (_items_of(types), INT),))
FORMS: Final[dict[str, Form]] = {
    "transform": _EACH,
    "list_transform": _EACH,
    "filter": _EACH,
    "list_filter": _EACH,
    "exists": Form(1, (lambda types: (_items_of(types),),)),
    "any_match": Form(1, (lambda types: (_items_of(types),),)),
    "forall": Form(1, (lambda types: (_items_of(types),),)),
    "all_match": Form(1, (lambda types: (_items_of(types),),)),
    "map_filter": _ENTRIES,
    "transform_values": _ENTRIES,
    "zip_with": Form(2, (lambda types: (_items_of(types), _items_of(types, 1)),)),
    "aggregate": Form(1, (lambda types: (types[1], _items_of(types)), lambda types: (types[2],))),
    "reduce": Form(1, (lambda types: (types[1], _items_of(types)), lambda types: (types[2],))),
}
"""By name, in lower case."""


# -- how they are bound


def _lambda(expr: Expr) -> LambdaBody | None:
    return expr.value if isinstance(expr, Literal) and isinstance(expr.value, LambdaBody) else None


def _bodies(args: Sequence[Expr]) -> list[LambdaBody]:
    return [body for arg in args if (body := _lambda(arg)) is not None]


def _bind(name: str, meaning: str, result: Callable[[tuple[Expr, ...]], pl.DataType]) -> Callable[..., Expr]:
    def bind(args: tuple[Expr, ...]) -> Expr:
        if not _bodies(args):
            raise BadArguments(f"{name} takes a lambda, such as x -> x + 1")
        return Call(meaning, args, result(args))

    return bind


def _condition(args: tuple[Expr, ...]) -> LambdaBody:
    body = _bodies(args)[0]
    if body.body.dtype not in (BOOLEAN, VOID):
        raise BadArguments(f"the lambda must give a BOOLEAN, not {type_name(body.body.dtype)}")
    return body


def _of_conditions(dtype: Callable[[tuple[Expr, ...]], pl.DataType]) -> Callable[[tuple[Expr, ...]], pl.DataType]:
    def result(args: tuple[Expr, ...]) -> pl.DataType:
        _condition(args)
        return dtype(args)

    return result


def _list_of_body(args: tuple[Expr, ...]) -> pl.DataType:
    return pl.List(_bodies(args)[0].body.dtype)


def _bind_aggregate(name: str) -> Callable[..., Expr]:
    """`aggregate(array, start, merge[, finish])`: the start has the type of what merge gives."""

    def bind(args: tuple[Expr, ...]) -> Expr:
        bodies = _bodies(args)
        if not bodies:
            raise BadArguments(f"{name} takes a lambda, such as aggregate(xs, 0, (sum, x) -> sum + x)")
        start = args[1]
        merge = bodies[0]
        if common_type((start.dtype, merge.body.dtype)) is None:
            raise BadArguments(
                f"{name} starts with {type_name(start.dtype)} and goes on with {type_name(merge.body.dtype)}"
            )
        merged = Literal(LambdaBody(merge.parameters, merge.captured, cast(merge.body, start.dtype)), VOID)
        made = tuple(merged if _lambda(arg) is merge else arg for arg in args)
        return Call("aggregate", made, bodies[1].body.dtype if len(bodies) > 1 else start.dtype)

    return bind


# -- the kernel


class _Computed:
    """A lambda over a frame with its parameters: values, and which rows fail for which reason."""

    def __init__(self, body: LambdaBody) -> None:
        from jupyter_stream.functions.kernel import compile_kernel  # the kernel knows the table, the table these rows

        self.body = body
        self._made = compile_kernel(body.body)
        self.reasons = tuple(dict.fromkeys(f.reason for f in self._made.failures))

    def values(self, frame: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
        """The values, and the number of the reason for which each fails (NULL for none)."""
        from jupyter_stream.functions.steps import with_steps

        wide = with_steps(frame, self._made.steps)
        told: pl.Expr = pl.lit(None, dtype=pl.Int32)
        for failure in reversed(self._made.failures):
            number = self.reasons.index(failure.reason)
            told = pl.when(failure.condition.fill_null(False)).then(pl.lit(number, dtype=pl.Int32)).otherwise(told)
        found = wide.select(self._made.value.cast(self.body.body.dtype).alias("value"), told.alias("failed"))
        if found.height != wide.height:
            found = found.select(pl.all().gather(pl.zeros(wide.height, dtype=pl.Int64, eager=True)))
        return found.get_column("value"), found.get_column("failed")


def _aligned(columns: Sequence[pl.Series]) -> list[pl.Series]:
    """Columns of one length; one of a single row stands for all rows."""
    size = max(len(c) for c in columns) if all(len(c) for c in columns) else 0
    return [c if len(c) == size else c.new_from_index(0, size) if size else c.clear() for c in columns]


def _unfolded(arrays: Sequence[pl.Series], captured: Sequence[pl.Series], body: LambdaBody) -> pl.DataFrame:
    """A row for each item, with the lambda's parameters: the items, or the item and its number from 0."""
    sizes = [a.list.len().fill_null(0).cast(pl.Int64) for a in arrays]
    most = reduce(lambda one, other: one.zip_with(one >= other, other), sizes)
    frame = pl.DataFrame({_ROW: pl.int_range(len(most), eager=True), "size": most})
    items = []
    for parameter, array in zip(body.parameters, arrays, strict=False):
        padded = array if len(arrays) == 1 else array.to_frame("a").select(_padded(pl.col("a"), most)).to_series()
        items.append(padded.alias(parameter.name))
    frame = frame.with_columns(items).filter(pl.col("size") > 0)
    explode = [p.name for p, _ in zip(body.parameters, arrays, strict=False)]
    numbered = len(body.parameters) > len(arrays)
    if numbered:
        frame = frame.with_columns(pl.int_ranges(pl.col("size")).alias(body.parameters[len(arrays)].name))
        explode.append(body.parameters[len(arrays)].name)
    frame = frame.drop("size").explode(explode)
    if numbered:
        frame = frame.with_columns(pl.col(explode[-1]).cast(INT))
    rows = frame.get_column(_ROW)
    return frame.with_columns(c.gather(rows).alias(p.name) for p, c in zip(body.captured, captured, strict=True))


def _padded(array: pl.Expr, most: pl.Series) -> pl.Expr:
    places = pl.select(pl.int_ranges(most)).to_series()
    return array.fill_null([]).list.gather(places, null_on_oob=True)


def _folded(values: pl.Series, rows: pl.Series, array: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Values of items as arrays of their rows; NULL where the array is."""
    lists = pl.DataFrame({_ROW: rows, "value": values}).group_by(_ROW, maintain_order=True).agg("value")
    numbers = pl.DataFrame({_ROW: pl.int_range(len(array), eager=True)})
    made = numbers.join(lists, on=_ROW, how="left", maintain_order="left").get_column("value").cast(dtype)
    made = made.zip_with(made.is_not_null(), pl.Series([[]], dtype=dtype))
    return made.zip_with(array.is_not_null(), pl.Series([None], dtype=dtype))


_Finish = Callable[[pl.Series, pl.DataFrame, Sequence[pl.Series], pl.DataType], pl.Series]


def _through(finish: _Finish, arrays: int = 1) -> Kernel:
    """A kernel that computes a lambda for every item, and makes its answer of the values."""

    def kernel(call: Call, parts: tuple[Compiled, ...]) -> Compiled:
        body = _bodies(call.args)[0]
        computed = _Computed(body)
        values = [p.value for p, arg in zip(parts, call.args, strict=True) if _lambda(arg) is None]

        def answered(columns: Sequence[pl.Series]) -> pl.Series:
            whole = _aligned(columns)
            frame = _unfolded(whole[:arrays], whole[arrays:], body)
            made, _ = computed.values(frame)
            return finish(made, frame, whole[:arrays], call.dtype).alias(columns[0].name)

        def failed(columns: Sequence[pl.Series]) -> pl.Series:
            whole = _aligned(columns)
            frame = _unfolded(whole[:arrays], whole[arrays:], body)
            _, told = computed.values(frame)
            return _first_failure(told, frame.get_column(_ROW), len(whole[0])).alias(columns[0].name)

        return _compiled(call, parts, values, answered, failed, computed.reasons)

    return kernel


def _compiled(
    call: Call,
    parts: Sequence[Compiled],
    values: Sequence[pl.Expr],
    answered: Callable[[Sequence[pl.Series]], pl.Series],
    failed: Callable[[Sequence[pl.Series]], pl.Series],
    reasons: Sequence[str],
) -> Compiled:
    made = calling(values, answered, call.dtype)
    failures = inherited(parts)
    if reasons:
        first = calling(values, failed, pl.Int32())
        failures += tuple(Failure((first == i).fill_null(False), reason) for i, reason in enumerate(reasons))
    return Compiled(made, failures)


def _first_failure(told: pl.Series, rows: pl.Series, size: int) -> pl.Series:
    """For each row the number of the first reason by which one of its items fails."""
    found = (
        pl.DataFrame({_ROW: rows, "failed": told}).drop_nulls("failed").unique(_ROW, keep="first", maintain_order=True)
    )
    made = pl.repeat(None, size, dtype=pl.Int32, eager=True)
    return made.scatter(found.get_column(_ROW).to_list(), found.get_column("failed")) if found.height else made


def _transformed(made: pl.Series, frame: pl.DataFrame, arrays: Sequence[pl.Series], dtype: pl.DataType) -> pl.Series:
    lists = _folded(made, frame.get_column(_ROW), arrays[0], dtype)
    return lists if len(arrays) == 1 else lists.zip_with(arrays[1].is_not_null(), pl.Series([None], dtype=dtype))


def _filtered(made: pl.Series, frame: pl.DataFrame, arrays: Sequence[pl.Series], dtype: pl.DataType) -> pl.Series:
    kept = frame.filter(made.fill_null(False))
    items = kept.get_column(kept.columns[1])
    return _folded(items, kept.get_column(_ROW), arrays[0], dtype)


def _some(wanted: bool) -> _Finish:
    """Whether the condition is `wanted` for an item; NULL where only a NULL could be it; otherwise the opposite."""

    def finish(made: pl.Series, frame: pl.DataFrame, arrays: Sequence[pl.Series], dtype: pl.DataType) -> pl.Series:
        rows = pl.DataFrame({_ROW: frame.get_column(_ROW), "value": made})
        found = rows.group_by(_ROW).agg(
            some=(pl.col("value") == wanted).fill_null(False).any(), unknown=pl.col("value").is_null().any()
        )
        numbers = pl.DataFrame({_ROW: pl.int_range(len(arrays[0]), eager=True), "given": arrays[0].is_not_null()})
        joined = numbers.join(found, on=_ROW, how="left", maintain_order="left").with_columns(
            pl.col("some", "unknown").fill_null(False)
        )
        answer = pl.when("some").then(wanted).when(~pl.col("unknown")).then(not wanted)
        return joined.select(pl.when("given").then(answer)).to_series()

    return finish


def _with(values: pl.Series, rows: pl.Series, made: pl.Series) -> pl.Series:
    """The values, with others at some rows; of any type."""
    places = np.arange(len(values))
    places[rows.to_numpy()] = len(values) + np.arange(len(rows))
    return pl.concat([values, made.alias(values.name)]).gather(places)


def _aggregated(call: Call, parts: tuple[Compiled, ...]) -> Compiled:
    """From place to place: what the first lambda makes of what there is so far and of the item there."""
    bodies = _bodies(call.args)
    merge, finish = _Computed(bodies[0]), _Computed(bodies[1]) if len(bodies) > 1 else None
    reasons = (*merge.reasons, *(() if finish is None else finish.reasons))
    values = [p.value for p, arg in zip(parts, call.args, strict=True) if _lambda(arg) is None]
    own = len(bodies[0].captured)

    def both(columns: Sequence[pl.Series]) -> tuple[pl.Series, pl.Series]:
        array, start, *captured = _aligned(columns)
        so_far = start.cast(call.args[1].dtype)
        failed = pl.repeat(None, len(array), dtype=pl.Int32, eager=True)
        state, item = bodies[0].parameters
        sizes = array.list.len().fill_null(0)
        for place in range(int(sizes.max() or 0)):  # type: ignore[arg-type]  # a number
            rows = (sizes > place).arg_true()
            here = array.gather(rows).list.get(place)
            frame = pl.DataFrame({state.name: so_far.gather(rows), item.name: here.cast(item.dtype)}).with_columns(
                c.gather(rows).alias(p.name) for p, c in zip(bodies[0].captured, captured[:own], strict=True)
            )
            made, told = merge.values(frame)
            so_far = _with(so_far, rows, made)
            new = told.is_not_null() & failed.gather(rows).is_null()
            failed = failed.scatter(rows.filter(new), told.filter(new)) if new.any() else failed
        if finish is not None:
            (state,) = bodies[1].parameters
            frame = pl.DataFrame({state.name: so_far}).with_columns(
                c.alias(p.name) for p, c in zip(bodies[1].captured, captured[own:], strict=True)
            )
            so_far, told = finish.values(frame)
            failed = failed.zip_with(failed.is_not_null(), told + len(merge.reasons))
        given = array.is_not_null()
        none = pl.Series([None], dtype=call.dtype)
        return so_far.zip_with(given, none), failed.zip_with(given, pl.Series([None], dtype=pl.Int32))

    return _compiled(
        call, parts, values, lambda c: both(c)[0].alias(c[0].name), lambda c: both(c)[1].alias(c[0].name), reasons
    )


# -- on Spark


def _on_spark(name: str) -> Callable[[Call, tuple[str, ...]], str]:
    def write(call: Call, args: tuple[str, ...]) -> str:
        shown: list[str] = []
        around: list[str] = []
        for arg, text in zip(call.args, args, strict=True):
            body = _lambda(arg)
            taken = len(body.captured) if body is not None else 0
            if body is None:
                around.append(text)
                continue
            before, outer = around[: len(around) - taken], around[len(around) - taken :]
            shown += before
            around = []
            for column, value in zip(body.captured, outer, strict=True):
                text = text.replace(f"`{column.name}`", value)
            shown.append(text)
        return f"{name}({', '.join((*shown, *around))})"

    return write


def _row(
    signature: str,
    description: str,
    example: str,
    bind: Callable[..., Expr],
    kernel: Kernel | None = None,
) -> Function:
    name = signature.partition("(")[0]
    return Function(name, signature, description, example, bind, kernel, _on_spark(name) if kernel else None)


_SAME_ARRAY: Final = _of_conditions(lambda args: args[0].dtype)
_WHETHER: Final = _of_conditions(lambda args: BOOLEAN)

FUNCTIONS: Final = (
    _row(
        "transform(array, x -> value) -> ARRAY", "What a lambda makes of each item; (x, i) -> value has its number, from 0, too.",
        "transform(array(1, 2), x -> x * 10) = [10, 20]", _bind("transform", "transform", _list_of_body), _through(_transformed),
    ),
    _row(
        "list_transform(array, x -> value) -> ARRAY", "As transform.", "list_transform(array(1, 2), x -> x * 10) = [10, 20]",
        _bind("list_transform", "transform", _list_of_body),
    ),
    _row(
        "filter(array, x -> condition) -> ARRAY", "The items for which the condition is true.",
        "filter(array(1, 2, 3), x -> x > 1) = [2, 3]", _bind("filter", "filter", _SAME_ARRAY), _through(_filtered),
    ),
    _row(
        "list_filter(array, x -> condition) -> ARRAY", "As filter.", "list_filter(array(1, 2, 3), x -> x > 1) = [2, 3]",
        _bind("list_filter", "filter", _SAME_ARRAY),
    ),
    _row(
        "exists(array, x -> condition) -> BOOLEAN", "Whether it is true for an item; NULL where only a NULL could be it.",
        "exists(array(1, 2), x -> x > 1) is true", _bind("exists", "exists", _WHETHER), _through(_some(True)),
    ),
    _row(
        "any_match(array, x -> condition) -> BOOLEAN", "As exists.", "any_match(array(1, 2), x -> x > 1) is true",
        _bind("any_match", "exists", _WHETHER),
    ),
    _row(
        "forall(array, x -> condition) -> BOOLEAN", "Whether it is true for all items; NULL where a NULL leaves it open.",
        "forall(array(1, 2), x -> x > 1) is false", _bind("forall", "forall", _WHETHER), _through(_some(False)),
    ),
    _row(
        "all_match(array, x -> condition) -> BOOLEAN", "As forall.", "all_match(array(1, 2), x -> x > 0) is true",
        _bind("all_match", "forall", _WHETHER),
    ),
    _row(
        "zip_with(array, array, (x, y) -> value) -> ARRAY",
        "What a lambda makes of each two items; NULLs go on with the shorter.",
        "zip_with(array(1, 2), array(3, 4), (x, y) -> x + y) = [4, 6]", _bind("zip_with", "zip_with", _list_of_body),
        _through(_transformed, 2),
    ),
    _row(
        "aggregate(array, start, (so_far, x) -> value[, so_far -> value])",
        "What a lambda makes of the items one after the other.",
        "aggregate(array(1, 2, 3), 0, (sum, x) -> sum + x) = 6", _bind_aggregate("aggregate"), _aggregated,
    ),
    _row(
        "reduce(array, start, (so_far, x) -> value[, so_far -> value])", "As aggregate.",
        "reduce(array(1, 2, 3), 0, (sum, x) -> sum + x) = 6", _bind_aggregate("reduce"),
    ),
)  # fmt: skip
