"""FROM: streams, derived streams, subqueries and unions of them, with their windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import polars as pl

from jupyter_stream import functions
from jupyter_stream.binding.as_relation import Lives, OfNewest, lived
from jupyter_stream.binding.bind_aggregate import windowed
from jupyter_stream.binding.bind_join import bind_join, living
from jupyter_stream.binding.bind_recursion import bind_recursion
from jupyter_stream.binding.bind_sample import sampled
from jupyter_stream.binding.event_time import TIMES_ALIKE
from jupyter_stream.binding.forms.asof_join import is_asof, written_plainly
from jupyter_stream.binding.forms.column_aliases import renamed, with_names
from jupyter_stream.binding.forms.lateral import bind_lateral, is_lateral
from jupyter_stream.binding.scope import Scope, is_windowed
from jupyter_stream.core.schema import Field, Schema, type_name
from jupyter_stream.core.table import ONE_ROW, ViewRows
from jupyter_stream.errors import QueryError
from jupyter_stream.functions import Column, Expr, Literal
from jupyter_stream.plan.catalog import Catalog, DerivedStream, StreamDef
from jupyter_stream.plan.logical import (
    BoundQuery,
    Derived,
    Filter,
    Join,
    Lookup,
    Plan,
    Project,
    Sample,
    Scan,
    Union,
    Unnest,
    streams,
)
from jupyter_stream.plan.relations import is_relation
from jupyter_stream.plan.rules.common import is_stream
from jupyter_stream.plan.time_of import time_of
from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.query_syntax import (
    FromItem,
    ItemsRef,
    JoinRef,
    MatchRef,
    QueryBody,
    RecursiveRef,
    StreamRef,
    SubqueryRef,
    UnionRef,
    reads_nothing,
)
from jupyter_stream.syntax.source_text import Name, SourceText, Span
from jupyter_stream.windows import LifetimeWindow, Window

BindBody: TypeAlias = Callable[[QueryBody], tuple[Plan, Lives]]
"""How a SELECT is bound: its plan, and the lifetimes its rows keep."""


def bind_from(
    item: FromItem,
    catalog: Catalog,
    source: SourceText,
    bind_body: BindBody,
    live: bool = False,
    counted: bool = False,
) -> Scope:
    """The rows of a FROM item.

    Args:
        item: as written.
        catalog: what names mean.
        source: where it is written.
        bind_body: for subqueries.
        live: whether views are what their SELECTs define, which changes, rather than what they hold now.
        counted: whether the rows of a SELECT may be counted by what stands around it.

    Raises:
        QueryError: an unknown stream, a union of unlike parts, a wrong window.
    """
    if isinstance(item, ItemsRef) or is_lateral(item):  # nothing stands before it
        nothing = StreamRef(Name(ONE_ROW, item.span), None, None, None, item.span)
        item = JoinRef("inner", (nothing, item), None, (), item.span)
    if isinstance(item, JoinRef):
        return _of_join(item, catalog, source, lambda part: bind_from(part, catalog, source, bind_body, live))
    if isinstance(item, StreamRef | SubqueryRef) and item.as_of is not None:
        raise source.error(
            "FOR SYSTEM_TIME AS OF goes behind what a stream is joined with",
            item.as_of.span,
            "Write FROM a JOIN b FOR SYSTEM_TIME AS OF a.ts ON a.k = b.k.",
        )
    counted = counted or (item.window is not None and item.window.counts)
    if isinstance(item, StreamRef):
        scope, item = _of_name(item, catalog, source)
    elif isinstance(item, SubqueryRef):
        scope = _of_select(item, source, bind_body, counted)
    elif isinstance(item, MatchRef):
        from jupyter_stream.binding.bind_match import bind_match  # not before a query has one

        scope = bind_match(item, bind_from(item.input, catalog, source, bind_body, live), source)
    elif isinstance(item, RecursiveRef):
        scope = bind_recursion(item, catalog, source, bind_body)
    else:
        parts = [bind_from(part, catalog, source, bind_body, live, counted) for part in item.parts]
        scope = _of_union(item, parts, source)
    if item.sample is not None:
        scope = replace(scope, plan=sampled(scope.plan, item.sample, source))
    if item.columns and not isinstance(item, SubqueryRef | RecursiveRef):
        scope = with_names(scope, item, source)
    if live and item.window is None and any(s.table is None for s in streams(living(scope).plan)):
        return living(scope)
    if item.window is None:
        return scope
    if is_relation(scope.plan):
        scope = replace(scope, window=None)
    return windowed(item.window, scope, source)


def _of_join(item: JoinRef, catalog: Catalog, source: SourceText, bind: Callable[[FromItem], Scope]) -> Scope:
    item = _stream_first(item, catalog)
    if is_asof(item):
        item = written_plainly(item, source, bind)
    joined = bind_lateral(item, source, bind) if is_lateral(item.parts[1]) else bind_join(item, source, bind)
    if reads_nothing(item.parts[0]):
        joined = replace(joined, joined=(joined.joined or ())[1:])
    if item.sample is not None:
        joined = replace(joined, plan=sampled(joined.plan, item.sample, source))
    joined = joined if item.alias is None else with_names(joined, item, source)
    return joined if item.window is None else windowed(item.window, joined, source)


def _of_name(item: StreamRef, catalog: Catalog, source: SourceText) -> tuple[Scope, StreamRef]:
    """The rows of a stream, a table or a view; and the item without a window that isn't about it."""
    plan = _stream(item, catalog, source)
    window: Window | None = None
    if isinstance(plan, Scan) and plan.stream.table is not None:
        if item.window is not None and item.window.shared:
            item = replace(item, window=None)  # a list's window is its streams'
        if item.window is not None:
            what = "view" if isinstance(plan.stream.table, ViewRows) else "table"
            raise source.error(
                f"{item.name.text} is a {what}, and windows need a stream", item.window.span, "Remove the window."
            )
        window = LifetimeWindow(None)
    qualifiers = (item.name.text.lower(),) if item.alias is None and item.function is None else _alias(item)
    return Scope(plan, qualifiers, window), item


def _of_select(item: SubqueryRef, source: SourceText, bind_body: BindBody, counted: bool) -> Scope:
    """The rows of a SELECT; `counted`: what stands around it may count them."""
    plan, lives = bind_body(item.body)
    if item.unpacked:
        plan = _unpacked(plan)
    window: Window | None = None
    if item.window is None:
        plan, window = lived(plan, lives)
    elif not isinstance(lives, OfNewest):  # a window written behind it is over what enters
        window = lives
    if item.columns:
        plan = renamed(plan, item.columns, item.body, source)
    if counted and _countable(plan, item.window is not None) and all(s.table is None for s in streams(plan)):
        plan = Derived(None, plan, plan.schema)
    return Scope(plan, _alias(item), window)


def _unpacked(plan: Plan) -> Plan:
    """The fields of the one column, if it is a STRUCT, as columns."""
    (field,) = plan.schema
    if not isinstance(field.dtype, pl.Struct):
        return plan
    whole = Column(field.name, field.dtype)
    items = tuple(
        (f.name, functions.resolve("get_field", [whole, Literal(f.name, pl.String())])) for f in field.dtype.fields
    )
    return Project(plan, items, Schema(tuple(Field(n, e.dtype) for n, e in items)))


def _of_union(item: UnionRef, parts: Sequence[Scope], source: SourceText) -> Scope:
    plan = union_of([part.plan for part in parts], source, item.span)
    one = item.alias is None and len({p.qualifiers for p in parts}) == 1
    return Scope(plan, parts[0].qualifiers if one else _alias(item), _shared_window(parts, item.parts, source))


def _alias(item: StreamRef | SubqueryRef | UnionRef) -> tuple[str, ...]:
    return () if item.alias is None else (item.alias.text.lower(),)


def _countable(plan: Plan, windowed: bool) -> bool:
    """Whether a SELECT's rows can be counted as they enter. Rows of a join without a window behind it leave again."""
    match plan:
        case _ if plan.searches:
            return True
        case Derived():
            return not is_windowed(plan.input)
        case Join():
            return windowed
        case Filter() | Project() | Sample() | Unnest() | Lookup():
            return _countable(plan.input, windowed)
        case Union():
            return all(_countable(part, windowed) for part in plan.parts)
    return is_stream(plan)


def _stream_first(item: JoinRef, catalog: Catalog) -> JoinRef:
    """A comma list that begins with several tables, with its first stream before them: the order of a list means nothing."""
    listed: list[FromItem] = []
    rest: FromItem = item
    while isinstance(rest, JoinRef) and rest.kind == "inner" and rest.on is None and not rest.using and not rest.value:
        if rest.natural is not None or rest.window is not None or rest.sample is not None or rest.alias is not None:
            break
        listed.insert(0, rest.parts[1])
        rest = rest.parts[0]
    listed.insert(0, rest)
    first = next((i for i, part in enumerate(listed) if not _is_table(part, catalog)), 0)
    if first < 2:
        return item
    found, *others = [listed[first], *listed[:first], *listed[first + 1 :]]
    for part in others:
        found = JoinRef("inner", (found, part), None, (), item.span)
    assert isinstance(found, JoinRef)
    return found


def _is_table(item: FromItem, catalog: Catalog) -> bool:
    if is_lateral(item):
        return True
    entry = catalog.find(item.name.text) if isinstance(item, StreamRef) and item.function is None else None
    return isinstance(entry, StreamDef) and entry.table is not None


def _stream(item: StreamRef, catalog: Catalog, source: SourceText) -> Plan:
    name = f"{item.function}({item.name.text})" if item.function else item.name.text
    try:
        entry = catalog.meant(name)
    except QueryError as error:  # a frame or a file that can't be read
        raise source.error(error.message, item.name.span, error.hint, type(error)) from None
    if isinstance(entry, StreamDef):
        return Scan(entry, entry.schema)
    if isinstance(entry, DerivedStream):
        assert isinstance(entry.query, BoundQuery)
        return Derived(entry.name, entry.query.plan, entry.schema, entry.ordered)
    known = [n for n in catalog.names if "(" not in n]
    if item.function is not None and catalog.find(item.name.text) is not None:
        raise source.error(
            f"{item.name.text} has no {item.function} rows",
            item.span,
            f"{item.function}(name) works for streams that have a SOURCE.",
        )
    hint = catalog.advice(item.name.text) or did_you_mean(item.name.text, known, "streams", catalog.frames)
    if not known and hint is None:
        hint = "No stream has been declared yet: CREATE STREAM name (...) SOURCE '...'."
    raise source.error(f"there is no stream called {item.name.text}", item.name.span, hint)


def _shared_window(parts: Sequence[Scope], items: Sequence[FromItem], source: SourceText) -> Window | None:
    windows = {part.window for part in parts}
    if len(windows) == 1:
        return windows.pop()
    odd = next(i for i, part in enumerate(parts) if part.window != parts[0].window)
    raise source.error(
        "the parts of a union have different windows",
        items[odd].span,
        "Write one window after the whole union: (a UNION b) [RANGE ...].",
    )


def union_of(plans: Sequence[Plan], source: SourceText, span: Span) -> Plan:
    """A bag union by position; parts are cast to common types, and named as the first.

    Raises:
        QueryError: the parts have different numbers of columns, types without a common one, or times of different types.
    """
    flat: list[Plan] = []
    for plan in plans:
        flat.extend(plan.parts if isinstance(plan, Union) else (plan,))
    first = flat[0].schema
    for plan in flat[1:]:
        if len(plan.schema) != len(first):
            raise source.error(
                f"the parts of a union have {len(first)} and {len(plan.schema)} columns",
                span,
                "Select the same columns from each part.",
            )
    fields = []
    for i, field in enumerate(first):
        types = [plan.schema.fields[i].dtype for plan in flat]
        common = types[0] if all(t == types[0] for t in types) else functions.common_type(types)
        if common is None:
            other = next(
                p.schema.fields[i]
                for p in flat
                if functions.common_type([field.dtype, p.schema.fields[i].dtype]) is None
            )
            raise source.error(
                f"column {i + 1} of a union can't be {type_name(field.dtype)} and {type_name(other.dtype)}",
                span,
                f"Columns are matched by position ({field.name} with {other.name} here): reorder or cast one.",
            )
        fields.append(Field(field.name, common))
    if len({time_of(plan).dtype for plan in flat}) > 1:
        raise source.error("a union needs one kind of time: some parts have TIMESTAMP, some BIGINT", span, TIMES_ALIKE)
    schema = Schema(tuple(fields))
    return Union(tuple(as_schema(plan, schema) for plan in flat), schema)


def as_schema(plan: Plan, schema: Schema) -> Plan:
    """The plan with the names and types of a schema."""
    if plan.schema == schema:
        return plan
    below = plan
    exprs: list[Expr] = [Column(f.name, f.dtype) for f in plan.schema]
    if isinstance(plan, Project):
        below, exprs = plan.input, [expr for _, expr in plan.items]
    items = tuple((want.name, functions.cast(expr, want.dtype)) for want, expr in zip(schema, exprs, strict=True))
    return Project(below, items, schema)
