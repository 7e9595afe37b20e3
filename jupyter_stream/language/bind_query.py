"""SELECT, from what is written to a logical plan: `bind_query`, and `bind_derived` for CREATE STREAM ... AS SELECT.

Shape of a plan: FROM, Filter for WHERE, Aggregate if it is an aggregate query, Filter for HAVING, Project to the select list.
"""

from __future__ import annotations

from jupyter_stream.core.messages import IS_FINAL, TS, WINDOW_END
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions import Column, Expr
from jupyter_stream.functions.expression import substitute, walk
from jupyter_stream.language.scope import is_relation, time_of
from jupyter_stream.language.source_text import SourceText
from jupyter_stream.language.syntax import (
    CreateStreamAs,
    Name,
    Select,
)
from jupyter_stream.plan.catalog import Catalog, DerivedStream
from jupyter_stream.plan.logical import Aggregate, Derived, Emit, Filter, Plan, Project, Query

_AUTOMATIC = ("window_start", "window_end")


def bind_query(statement: Select, catalog: Catalog) -> Query:
    """A SELECT ready to run.

    Raises:
        QueryError: a mistake in it, with its place.
        UnsupportedError: something that can't be run yet.
    """
    binder = _Binder(statement.source, catalog)
    plan, _ = binder.body(statement.body)
    emit = Emit()
    if statement.emit is not None:
        emit = Emit(statement.emit.mode, statement.emit.interval)
        if emit.mode != "final" and plan.schema.find(IS_FINAL) is not None:
            raise statement.source.error(
                f"a result column is called {IS_FINAL}, which EMIT adds itself",
                statement.emit.span,
                "Give it another name with AS.",
            )
    return _query(plan, emit, statement.text)


def bind_derived(statement: CreateStreamAs, catalog: Catalog) -> DerivedStream:
    """A derived stream.

    Raises:
        QueryError: a mistake in it, with its place.
        UnsupportedError: its SELECT is a relation, or can't be run yet.
    """
    source = statement.source
    binder = _Binder(source, catalog)
    plan, _ = binder.body(statement.body)
    if is_relation(plan):
        raise source.error(
            "an aggregate without SLIDE is a relation, which changes: it can't become a stream",
            statement.body.span,
            "Add a window with SLIDE: FROM stream [RANGE 1 MINUTE TUMBLING].",
            UnsupportedError,
        )
    if statement.columns is not None:
        plan = _renamed(plan, statement.columns, source, statement.name)
    return DerivedStream(statement.name.text, plan.schema, _query(plan, Emit(), statement.query_text), statement.text)


def _renamed(plan: Plan, names: tuple[Name, ...], source: SourceText, stream: Name) -> Plan:
    if len(names) != len(plan.schema):
        raise source.error(f"{len(names)} names for {len(plan.schema)} columns", names[0].span.to(names[-1].span))
    seen: set[str] = set()
    for name in names:
        if name.text.lower() in seen:
            raise source.error(f"two columns are called {name.text}", name.span)
        seen.add(name.text.lower())
    items = tuple((n.text, Column(f.name, f.dtype)) for n, f in zip(names, plan.schema, strict=True))
    return Project(plan, items, Schema(tuple(Field(n, e.dtype) for n, e in items)))


def _query(plan: Plan, emit: Emit, text: str) -> Query:
    """Which result columns are time and which are keys, worked out from the plan."""
    return Query(plan, emit, text, _time_column(plan), _key_columns(plan), is_relation(plan))


def _time_column(plan: Plan) -> str | None:
    """The result column that belongs on a time axis: window_end, else the progressing attribute if it is selected."""
    if isinstance(plan, Project):
        ends = [name for name, expr in plan.items if isinstance(expr, Column) and expr.name == WINDOW_END]
        if ends:
            return ends[0]
        below = plan.input if isinstance(plan.input, Project | Filter | Derived) else None
        inner = _time_column(below) if below is not None else None
        for name, expr in plan.items:
            if inner is not None and isinstance(expr, Column) and expr.name == inner:
                return name
        aggregate = plan.input.input if isinstance(plan.input, Filter) else plan.input
        if isinstance(aggregate, Aggregate):
            time = time_of(aggregate.input)
            keys = {n for n, e in aggregate.keys if isinstance(e, Column) and e.name in (time.column, TS)}
            return next((n for n, e in plan.items if isinstance(e, Column) and e.name in keys), None)
    if isinstance(plan, Filter | Derived):
        return _time_column(plan.input)
    if plan.inputs and not isinstance(plan, Project | Aggregate):
        columns: dict[str, Expr] = {}
    for part in walk(expr):
        if isinstance(part, Column) and part.name in renames:
            columns[part.name] = Column(renames[part.name], part.dtype)
    return substitute(expr, columns) if columns else expr
