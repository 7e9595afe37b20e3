"""LATERAL in FROM: items of arrays, and SELECTs that name columns of what stands before them.

FROM a, LATERAL (SELECT n FROM b WHERE b.k = a.k) x
FROM a JOIN b AS x ON x.k = a.k                                        -- where it only selects

FROM a LEFT JOIN LATERAL (SELECT max(n) AS m FROM b WHERE b.n < a.n) x
FROM a LEFT JOIN (SELECT d.n, max(b.n) AS m FROM (SELECT DISTINCT n FROM a) d, b WHERE b.n < d.n GROUP BY d.n) x ON x.n <=> a.n

FROM a, UNNEST(a.items) AS x (i)                                       -- a row for each item, with all columns of a
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import TypeAlias

import polars as pl

from jupyter_stream import functions
from jupyter_stream.binding.bind_aggregate import InputNames
from jupyter_stream.binding.bind_expression import ExpressionBinder, holds_aggregate
from jupyter_stream.binding.bind_join import bind_join
from jupyter_stream.binding.forms.dependent_join import OuterQuery, dependent
from jupyter_stream.binding.join_conditions import absorb
from jupyter_stream.binding.scope import JoinedColumn, Scope, joined_columns
from jupyter_stream.core.schema import Field, Schema, type_name
from jupyter_stream.errors import QueryError
from jupyter_stream.functions import Column, Expr
from jupyter_stream.functions.types import BIGINT, instance
from jupyter_stream.plan.logical import Plan, Project, Unnest
from jupyter_stream.syntax.nodes import (
    ColumnRef,
    Constant,
    Node,
    Operation,
    RowNumber,
    Star,
    Subselect,
    rewritten,
    walk,
)
from jupyter_stream.syntax.query_syntax import (
    FromItem,
    ItemsRef,
    JoinRef,
    QueryBody,
    SelectBody,
    SelectItem,
    SetBody,
    StreamRef,
    SubqueryRef,
)
from jupyter_stream.syntax.source_text import Name, SourceText

Bind: TypeAlias = Callable[[FromItem], Scope]


def is_lateral(item: FromItem) -> bool:
    """Whether an item of FROM is about the rows of what stands before it."""
    return isinstance(item, ItemsRef) or (isinstance(item, SubqueryRef) and item.lateral)


def bind_lateral(item: JoinRef, source: SourceText, bind: Bind) -> Scope:
    """Such an item joined with what stands before it.

    Raises:
        QueryError: a kind of join it can't have, or a mistake inside.
    """
    left_item, right = item.parts
    if item.kind not in ("inner", "left"):
        raise source.error(
            f"a {item.kind} join can't be about each row of what stands before it",
            right.span,
            "Write CROSS JOIN, or LEFT JOIN ... ON TRUE to keep rows for which there is nothing.",
        )
    if item.using or item.natural is not None:
        raise source.error(
            "a join with LATERAL or UNNEST takes a condition, no USING and no NATURAL",
            item.natural or item.using[0].span,
            "Write JOIN LATERAL (SELECT ...) b ON a.k = b.k.",
        )
    if isinstance(right, ItemsRef) and (right.window is not None or right.sample is not None):
        place = right.span if right.window is None else right.window.span
        raise source.error(
            "windows and SAMPLE go behind a stream, not behind an array's items", place, "Write them there."
        )
    left = bind(left_item)
    if isinstance(right, ItemsRef):
        return _with_condition(bind_items(right, left, source, item.kind == "left"), item, source)
    assert isinstance(right, SubqueryRef)
    simple = _selected(right, item, source, bind)
    if simple is not None:
        return simple
    body = right.body
    if _alone(body):  # its row is there also where it finds nothing
        whole = SelectItem(Star(None, body.span), None, "*", body.span)
        inner = SubqueryRef(body, None, Name(f"(one {body.span.start})", body.span), body.span)
        body = SelectBody(body.span, None, None, (whole,), inner, None, (), False, None, body.span)
    found = dependent(body, OuterQuery(left_item, left), right.span, source, bind)
    if found is None:
        return bind_join(replace(item, parts=(left_item, replace(right, lateral=False))), source, bind)
    alias = right.alias or Name(f"(lateral {right.span.start})", right.span)
    same: list[Node] = [
        Operation("<=>", (node, ColumnRef(Name(name, right.span), alias, right.span)), right.span)
        for node, name in found.pairs
    ]
    if item.on is not None and not _is_true(item.on):
        same.append(item.on)
    on = reduce(lambda one, other: Operation("and", (one, other), one.span), same)
    plain = replace(right, body=found.body, alias=alias, lateral=False)
    scope = bind_join(replace(item, parts=(left_item, plain), on=on), source, bind)
    hidden = {name for _, name in found.pairs}
    return replace(scope, joined=tuple(replace(c, shown=c.shown and c.name not in hidden) for c in _columns(scope)))


def _columns(scope: Scope) -> tuple[JoinedColumn, ...]:
    return joined_columns(scope)


def _is_true(node: Node) -> bool:
    return isinstance(node, Constant) and node.value is True


def _alone(body: QueryBody) -> bool:
    """Whether it is an aggregate without GROUP BY, which has a row where FROM has none."""
    if isinstance(body, SetBody) or body.group_by or body.group_all:
        return False
    return any(holds_aggregate(item.expression) for item in body.items)


# -- a SELECT that only selects


def _selected(right: SubqueryRef, item: JoinRef, source: SourceText, bind: Bind) -> Scope | None:
    """The join with what a SELECT reads, where it does no more than select; None for any other."""
    body = right.body
    if isinstance(body, SetBody) or not _only_selects(body) or right.columns or right.window is not None:
        return None
    read = body.source
    assert isinstance(read, StreamRef)
    inner = bind(read)
    if item.kind == "left" and not all(isinstance(i.expression, ColumnRef) for i in body.items):
        return None  # a row that finds nothing has NULL, whatever is computed
    alias = Name(f"(lateral {right.span.start})", right.span)

    def of_inner(node: Node) -> Node | None:
        if not isinstance(node, ColumnRef):
            return None
        own = node.qualifier is not None and node.qualifier.text.lower() in inner.qualifiers
        return replace(node, qualifier=alias) if own or (node.qualifier is None and inner.has(node.name.text)) else None

    conditions = [] if body.where is None else [rewritten(body.where, of_inner)]
    if item.on is not None and not _is_true(item.on):
        return None
    on = conditions[0] if conditions else Constant(True, pl.Boolean(), right.span)
    join = replace(item, parts=(item.parts[0], replace(read, alias=alias)), on=on)
    scope = bind_join(join, source, bind)
    own = tuple(c for c in _columns(scope) if alias.text.lower() not in c.qualifiers)
    binder = ExpressionBinder(source, InputNames(scope, source, "the select list"))
    qualifiers = () if right.alias is None else (right.alias.text.lower(),)
    items: list[tuple[str, Expr]] = []
    for each in body.items:
        if isinstance(each.expression, Star):
            items += scope.star(alias.text.lower())
            continue
        named = each.expression.name.text if isinstance(each.expression, ColumnRef) else each.text
        bound = binder.bind(rewritten(each.expression, of_inner))
        items.append((each.alias.text if each.alias is not None else named, bound))
    return _widened(scope, own, items, qualifiers)


def _only_selects(body: SelectBody) -> bool:
    plain = isinstance(body.source, StreamRef) and body.source.window is None and body.source.sample is None
    if not plain or body.operator is not None or body.distinct is not None or body.order is not None:
        return False
    if body.group_by or body.group_all or body.having is not None or body.qualify is not None or body.grouping_sets:
        return False
    nodes = [item.expression for item in body.items] + ([] if body.where is None else [body.where])
    if any(isinstance(part, Subselect | RowNumber) for node in nodes for part in walk(node)):
        return False
    return not any(holds_aggregate(node) for node in nodes)


def _widened(
    scope: Scope, own: tuple[JoinedColumn, ...], items: list[tuple[str, Expr]], qualifiers: tuple[str, ...]
) -> Scope:
    """FROM with more columns, under names of their own."""
    place = len(scope.schema)
    made = tuple((f"(lateral {place} {i})", expr) for i, (_, expr) in enumerate(items))
    known: tuple[tuple[str, Expr], ...] = tuple((f.name, Column(f.name, f.dtype)) for f in scope.schema)
    schema = Schema((*scope.schema, *(Field(n, e.dtype) for n, e in made)))
    joined = tuple(JoinedColumn(qualifiers, shown, column) for (shown, _), (column, _) in zip(items, made, strict=True))
    names = (*(q for q in scope.qualifiers if not q.startswith("(lateral")), *qualifiers)
    return replace(scope, plan=Project(scope.plan, (*known, *made), schema), qualifiers=names, joined=(*own, *joined))


# -- items of arrays


def bind_items(item: ItemsRef, left: Scope, source: SourceText, outer: bool) -> Scope:
    """What stands before an UNNEST with its items beside each row.

    Raises:
        QueryError: an argument is no array, or more names than columns.
    """
    place = len(left.schema)
    binder = ExpressionBinder(source, InputNames(left, source, item.function))
    arrays = _arrays(item, binder, source)
    made = tuple((f"(items {place} {i})", array) for i, array in enumerate(arrays))
    known: tuple[tuple[str, Expr], ...] = tuple((f.name, Column(f.name, f.dtype)) for f in left.schema)
    schema = Schema((*left.schema, *(Field(n, e.dtype) for n, e in made)))
    below = Project(left.plan, (*known, *made), schema)
    position = f"(items {place} place)" if item.numbered else None
    fields = [Field(name, instance(expr.dtype.inner)) for name, expr in made if isinstance(expr.dtype, pl.List)]
    counted = () if position is None else (Field(position, BIGINT),)
    names = tuple(name for name, _ in made)
    plan: Plan = Unnest(below, names, position, item.outer or outer, Schema((*left.schema, *fields, *counted)))
    plan, columns = _shown(item, plan, fields, position)
    if len(item.columns) > len(columns):
        raise source.error(
            f"{len(item.columns)} names for {len(columns)} column{'s' * (len(columns) != 1)}",
            item.columns[0].span.to(item.columns[-1].span),
            "Leave them out: columns without a name here keep their own.",
        )
    shown = [name.text for name in item.columns] + [name for name, _ in columns[len(item.columns) :]]
    qualifiers = () if item.alias is None else (item.alias.text.lower(),)
    joined = tuple(JoinedColumn(qualifiers, name, column) for name, (_, column) in zip(shown, columns, strict=True))
    return replace(left, plan=plan, qualifiers=(*left.qualifiers, *qualifiers), joined=(*_columns(left), *joined))


def _arrays(item: ItemsRef, binder: ExpressionBinder, source: SourceText) -> list[Expr]:
    args = [binder.bind(arg) for arg in item.args]
    call = item.args[0]
    if item.function in ("range", "generate_series"):
        return [_series(item, args, binder)]
    if item.function == "stack":
        return [_stacked(item, args, binder, source)]
    if item.function != "unnest" and len(args) > 1:
        raise source.error(f"{item.function} takes one array", item.span, "Write UNNEST(a, b) for several.")
    for node, arg in zip(item.args, args, strict=True):
        if isinstance(arg.dtype, pl.Null):
            continue
        if not isinstance(arg.dtype, pl.List):
            what = type_name(arg.dtype)
            raise source.error(f"{item.function} takes an array, not {what}", node.span, _hint(arg.dtype))
    if item.function == "inline" and not _of_structs(args[0]):
        raise source.error("inline takes an array of STRUCTs", call.span, "Write explode(array) for other items.")
    void = pl.List(pl.Null())
    return [functions.cast(a, void) if isinstance(a.dtype, pl.Null) else a for a in args]


def _hint(dtype: pl.DataType) -> str | None:
    return "Write split(text, ',') to make an array of a text." if dtype == pl.String() else None


def _of_structs(array: Expr) -> bool:
    return isinstance(array.dtype, pl.List) and isinstance(array.dtype.inner, pl.Struct)


def _series(item: ItemsRef, args: list[Expr], binder: ExpressionBinder) -> Expr:
    """Numbers as an array: `range` without its end, `generate_series` with it; none where the end isn't reached."""
    node = item.args[0]
    zero, one = functions.Literal(0, BIGINT), functions.Literal(1, BIGINT)
    if item.function == "range" and len(args) == 1:
        args = [zero, *args]
    start, stop, *step = (functions.cast(a, BIGINT) for a in args)
    by = step[0] if step else one
    last = binder.call("-", [stop, binder.call("sign", [by], node)], node) if item.function == "range" else stop
    last = functions.cast(last, BIGINT)
    ahead = binder.call(">=", [binder.call("*", [binder.call("-", [last, start], node), by], node), zero], node)
    return binder.call("case", [ahead, binder.call("sequence", [start, last, by], node)], node)


def _stacked(item: ItemsRef, args: list[Expr], binder: ExpressionBinder, source: SourceText) -> Expr:
    """`stack(2, a, b, c, d)`: rows (a, b) and (c, d)."""
    rows = args[0].value if isinstance(args[0], functions.Literal) else None
    if not isinstance(rows, int) or rows < 1 or len(args) < 2:
        raise source.error(
            "stack takes a number of rows and their values", item.span, "Write stack(2, 'a', 1, 'b', 2) for two rows."
        )
    width = -(-(len(args) - 1) // rows)
    null = functions.Literal(None, pl.Null())
    cells = [*args[1:], *[null] * (rows * width - len(args) + 1)]
    node = item.args[0]
    types = []
    for column in range(width):
        common = functions.common_type([cell.dtype for cell in cells[column::width]])
        if common is None:
            raise source.error(f"column {column + 1} of stack has values of different types", item.span)
        types.append(common)
    structs = []
    for row in range(rows):
        values: list[Expr] = []
        for column, dtype in enumerate(types):
            name = functions.Literal(f"col{column}", pl.String())
            values += [name, functions.cast(cells[row * width + column], dtype)]
        structs.append(binder.call("named_struct", values, node))
    return binder.call("array", structs, node)


def _shown(item: ItemsRef, plan: Plan, fields: list[Field], position: str | None) -> tuple[Plan, list[tuple[str, str]]]:
    """The columns an UNNEST shows: (name, column). STRUCTs of UNNEST, inline and stack are shown field by field."""
    columns: list[tuple[str, str]] = []
    items: list[tuple[str, Expr]] = []
    for number, field in enumerate(fields):
        whole = Column(field.name, field.dtype)
        named = len(item.columns) > 1 and item.function == "explode"  # key and value of a map
        if isinstance(field.dtype, pl.Struct) and (named or item.function in ("unnest", "inline", "stack")):
            for i, inner in enumerate(field.dtype.fields):
                column = f"{field.name} {i}"
                items.append(
                    (column, functions.resolve("get_field", [whole, functions.Literal(inner.name, pl.String())]))
                )
                columns.append((inner.name, column))
            continue
        called = item.alias is not None and item.function not in ("explode", "posexplode") and len(fields) == 1
        name = item.alias.text if called and item.alias is not None else "col" if not number else f"col{number + 1}"
        columns.append((name, field.name))
    if items:
        known: tuple[tuple[str, Expr], ...] = tuple((f.name, Column(f.name, f.dtype)) for f in plan.schema)
        plan = Project(plan, (*known, *items), Schema((*plan.schema, *(Field(n, e.dtype) for n, e in items))))
    if position is None:
        return plan, columns
    if item.function != "posexplode":
        return plan, [*columns, ("ordinality", position)]
    from_zero = functions.resolve("-", [Column(position, BIGINT), functions.Literal(1, BIGINT)])
    column = f"{position} 0"
    known = tuple((f.name, Column(f.name, f.dtype)) for f in plan.schema)
    counted = functions.cast(from_zero, pl.Int32())
    plan = Project(plan, (*known, (column, counted)), Schema((*plan.schema, Field(column, counted.dtype))))
    return plan, [("pos", column), *columns]


def _with_condition(scope: Scope, item: JoinRef, source: SourceText) -> Scope:
    """ON behind an UNNEST: a condition on its rows; of a LEFT JOIN only TRUE."""
    if item.on is None or _is_true(item.on):
        return scope
    if item.kind == "left":
        raise _only_true(item.on, source)
    condition = ExpressionBinder(source, InputNames(scope, source, "ON")).condition(item.on, "ON")
    return replace(scope, plan=absorb(scope.plan, condition))


def _only_true(on: Node, source: SourceText) -> QueryError:
    return source.error(
        "LEFT JOIN UNNEST takes ON TRUE",
        on.span,
        "Write LEFT JOIN UNNEST(a) AS x (i) ON TRUE, and conditions in WHERE.",
    )


__all__ = ["bind_items", "bind_lateral", "is_lateral"]
