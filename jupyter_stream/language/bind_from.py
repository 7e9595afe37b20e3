"""FROM: streams, derived streams, subqueries and unions of them, with their windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from jupyter_stream import functions
from jupyter_stream.core.schema import Field, Schema, type_name
from jupyter_stream.core.table import ViewRows
from jupyter_stream.functions import Column, Expr
from jupyter_stream.language.as_relation import Lives, OfNewest, lived
from jupyter_stream.language.bind_aggregate import windowed
from jupyter_stream.language.bind_join import bind_join, living
from jupyter_stream.language.bind_sample import sampled
from jupyter_stream.language.diagnose import did_you_mean
from jupyter_stream.language.query_syntax import FromItem, JoinRef, QueryBody, StreamRef, SubqueryRef
from jupyter_stream.language.scope import Scope, time_of
from jupyter_stream.language.source_text import SourceText, Span
from jupyter_stream.plan.catalog import Catalog, DerivedStream, StreamDef
from jupyter_stream.plan.logical import Derived, Plan, Project, Query, Scan, Union, streams
from jupyter_stream.plan.relations import is_relation
from jupyter_stream.windows import LifetimeWindow, Window

BindBody: TypeAlias = Callable[[QueryBody], tuple[Plan, Lives]]
"""How a SELECT is bound: its plan, and the lifetimes its rows keep."""


def bind_from(item: FromItem, catalog: Catalog, source: SourceText, bind_body: BindBody, live: bool = False) -> Scope:
    """The rows of a FROM item.

    Args:
        item: as written.
        catalog: what names mean.
        source: where it is written.
        bind_body: for subqueries.
        live: whether views are what their SELECTs define, which changes, rather than what they hold now.

    Raises:
        QueryError: an unknown stream, a union of unlike parts, a wrong window.
    """
    if isinstance(item, JoinRef):
        joined = bind_join(item, source, lambda part: bind_from(part, catalog, source, bind_body, live))
        if item.sample is not None:
            joined = replace(joined, plan=sampled(joined.plan, item.sample, source))
        return joined if item.window is None else windowed(item.window, joined, source)
    qualifiers: tuple[str, ...] = (item.alias.text.lower(),) if item.alias is not None else ()
    window: Window | None = None
    if isinstance(item, StreamRef):
        plan = _stream(item, catalog, source)
        if isinstance(plan, Scan) and plan.stream.table is not None:
            if item.window is not None:
                what = "view" if isinstance(plan.stream.table, ViewRows) else "table"
                raise source.error(
                    f"{item.name.text} is a {what}, and windows go with streams",
                    item.window.span,
                    "Take the window away.",
                )
            window = LifetimeWindow(None)
        if item.alias is None and item.function is None:
            qualifiers = (item.name.text.lower(),)
    elif isinstance(item, SubqueryRef):
        plan, lives = bind_body(item.body)
        if item.window is None:
            plan, window = lived(plan, lives)
        elif not isinstance(lives, OfNewest):  # a window written behind it is over what enters
            window = lives
    else:
        parts = [bind_from(part, catalog, source, bind_body, live) for part in item.parts]
        plan = union_of([part.plan for part in parts], source, item.span)
        window = _shared_window(parts, item.parts, source)
        if item.alias is None and len({p.qualifiers for p in parts}) == 1:
            qualifiers = parts[0].qualifiers
    if item.sample is not None:
        plan = sampled(plan, item.sample, source)
    scope = Scope(plan, qualifiers, window)
    if live and item.window is None and any(s.table is None for s in streams(living(scope).plan)):
        return living(scope)
    if item.window is None:
        return scope
    if is_relation(scope.plan):
        scope = replace(scope, window=None)
    return windowed(item.window, scope, source)


def _stream(item: StreamRef, catalog: Catalog, source: SourceText) -> Plan:
    name = f"{item.function}({item.name.text})" if item.function else item.name.text
    entry = catalog.find(name)
    if isinstance(entry, StreamDef):
        return Scan(entry, entry.schema)
    if isinstance(entry, DerivedStream):
        assert isinstance(entry.query, Query)
        return Derived(entry.name, entry.query.plan, entry.schema)
    known = [n for n in catalog.names if "(" not in n]
    if item.function is not None and catalog.find(item.name.text) is not None:
        raise source.error(
            f"{item.name.text} has no {item.function} rows",
            item.span,
            f"{item.function}(name) goes with streams that have a SOURCE.",
        )
    hint = did_you_mean(item.name.text, known, "streams")
    if not known:
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
        "Write one window behind the whole union: (a UNION b) [RANGE ...].",
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
                f"The parts go together by position ({field.name} with {other.name} here): reorder or cast one.",
            )
        fields.append(Field(field.name, common))
    if len({time_of(plan).dtype for plan in flat}) > 1:
        raise source.error("a union needs one kind of time: some parts have TIMESTAMP, some BIGINT", span)
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
