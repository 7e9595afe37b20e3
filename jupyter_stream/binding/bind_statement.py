"""SELECT as a statement, and what is named by one: CREATE STREAM, VIEW and TABLE ... AS SELECT."""

from __future__ import annotations

from dataclasses import replace

from jupyter_stream.binding.bind_from import bind_from
from jupyter_stream.binding.bind_preference import bind_preference, with_window
from jupyter_stream.binding.bind_query import Binder
from jupyter_stream.binding.bind_sets import answer_of, view_of
from jupyter_stream.binding.bind_tolerance import bind_tolerance
from jupyter_stream.binding.event_time import streams_need_a_time
from jupyter_stream.binding.own_progress import own_progress
from jupyter_stream.binding.result_columns import keeping_keys, query_of
from jupyter_stream.core.messages import IS_FINAL
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions import Column
from jupyter_stream.plan import logical
from jupyter_stream.plan.catalog import Catalog, DerivedStream, Entry
from jupyter_stream.plan.logical import BoundQuery, Emit, Plan, Project, Top
from jupyter_stream.plan.relations import answered, is_relation, staggered
from jupyter_stream.plan.time_columns import time_columns
from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.dialect import as_written
from jupyter_stream.syntax.nodes import ColumnRef
from jupyter_stream.syntax.source_text import Name, SourceText
from jupyter_stream.syntax.syntax import CreateStreamAs, CreateTableAs, CreateView, Select


def bind_query(statement: Select, catalog: Catalog) -> BoundQuery:
    """A SELECT ready to run.

    Raises:
        QueryError: a mistake in it, with its place.
        UnsupportedError: something that can't be run yet.
    """
    source, clause = statement.source, statement.preference
    binder = Binder(source, catalog)
    body = statement.body if clause is None else with_window(statement.body, clause, source)
    plan = answer_of(binder.body(body)[0])
    binder.check(plan)
    preference = None
    if clause is not None:
        preference = bind_preference(
            clause, statement.body, source, catalog, lambda part: bind_from(part, catalog, source, binder.body)
        )
    emit = Emit()
    if statement.emit is not None:
        emit = Emit(statement.emit.mode, statement.emit.interval)
        if emit.interval is not None:
            streams_need_a_time(plan, statement.emit.span, statement.source)
        top = next((n for n in logical.above_answers(plan) if isinstance(n, Top)), None)
        if emit.mode != "final" and top is not None and not (top.order or top.partition or is_relation(plan)):
            raise statement.source.error(
                "EMIT can't be used with LIMIT alone: the first rows to come never change",
                statement.emit.span,
                "Leave EMIT out, or write ORDER BY as well: ORDER BY n DESC LIMIT 10.",
            )
        if emit.mode != "final" and staggered(plan):
            raise statement.source.error(
                "EMIT isn't available over windows with different SLIDEs",
                statement.emit.span,
                "Give them the same SLIDE, or write one query for each window.",
                UnsupportedError,
            )
        if emit.mode != "final" and answered(plan) is not plan:
            raise statement.source.error(
                "EMIT isn't available together with a subquery over a stream",
                statement.emit.span,
                "Leave EMIT out, or read a table: (SELECT max(x) FROM table).",
                UnsupportedError,
            )
        if emit.mode != "final" and plan.schema.find(IS_FINAL) is not None:
            raise statement.source.error(
                f"EMIT adds a column {IS_FINAL}, and this query already has one",
                statement.emit.span,
                "Give it another name with AS.",
            )
    query = replace(keeping_keys(query_of(plan, emit, statement.text)), preference=preference)
    return bind_tolerance(query, statement)


def bind_derived(statement: CreateStreamAs, catalog: Catalog) -> Entry:
    """A derived stream. One with a WATERMARK of its own is a stream over the same source, which goes by another time.

    Raises:
        QueryError: a mistake in it, with its place.
        UnsupportedError: its SELECT is a relation, or can't be run yet.
    """
    source = statement.source
    statement = _order_in_front(statement, catalog)
    binder = Binder(source, catalog)
    plan = answer_of(binder.body(statement.body)[0])
    binder.check(plan)
    if is_relation(plan):
        raise source.error(
            "an aggregate without SLIDE has an answer that changes, which can't become a stream",
            statement.body.span,
            "Add a window with SLIDE: FROM stream [RANGE 1 MINUTE TUMBLING]; or write SELECT ISTREAM, for the rows added to it.",
            UnsupportedError,
        )
    if statement.columns is not None:
        plan = _renamed(plan, statement.columns, source, statement.name)
    if statement.watermark is not None:
        return own_progress(statement, plan)
    if statement.order_by is not None:
        _check_order(plan, statement.order_by, source)
    query = query_of(plan, Emit(), statement.query_text)
    return DerivedStream(statement.name.text, plan.schema, query, statement.text, statement.order_by is not None)


def _order_in_front(statement: CreateStreamAs, catalog: Catalog) -> CreateStreamAs:
    """`AS SELECT ... ORDER BY ts` as `ORDER BY ts AS SELECT ...`, where ts is the time of its rows; anything else as it is."""
    order = statement.body.order
    if statement.order_by is not None or order is None or len(order.items) != 1 or order.limit is not None:
        return statement
    key = order.items[0]
    if not isinstance(key.expression, ColumnRef) or key.descending or order.offset:
        return statement
    column = key.expression.name
    body = replace(statement.body, order=None)
    plan = answer_of(Binder(statement.source, catalog).body(body)[0])
    if is_relation(plan) or column.text.lower() not in (name.lower() for name in _times(plan)):
        return statement
    return replace(statement, body=body, order_by=column)


def _times(plan: Plan) -> list[str]:
    return [name for name, apart in time_columns(plan).items() if apart.exact and not name.startswith("$")]


def _check_order(plan: Plan, column: Name, source: SourceText) -> None:
    """A stream goes by its time alone: raises `QueryError` for any other column."""
    field = plan.schema.find(column.text)
    times = _times(plan)
    if field is not None and field.name in times:
        return
    if field is None:
        hint = did_you_mean(column.text, plan.schema.names, "columns") or "Select the time column, too."
        raise source.error(f"there is no column called {column.text}", column.span, hint)
    raise source.error(
        f"a stream can only be ordered by its time column, and {field.name} is not that",
        column.span,
        f"Write ORDER BY {as_written(times[0])}."
        if times
        else "Select the time column of the stream, and order by it.",
    )


def bind_view(statement: CreateView, catalog: Catalog) -> BoundQuery:
    """CREATE VIEW: any query, as a relation.

    Raises:
        QueryError: a mistake in it, with its place.
        UnsupportedError: its SELECT can't be a relation yet.
    """
    source = statement.source
    binder = Binder(source, catalog, live=True)
    plan, lifetime = binder.body(statement.body, view=True)
    plan = view_of(plan, lifetime, source, statement.body.span)
    binder.check(plan)
    if statement.columns is not None:
        plan = _renamed(plan, statement.columns, source, statement.name)
    return query_of(plan, Emit(), statement.text)


def bind_table_as(statement: CreateTableAs, catalog: Catalog) -> BoundQuery:
    """CREATE TABLE ... AS SELECT: a query over tables and views, whose answer the table holds.

    Raises:
        QueryError: a mistake in it, with its place; a stream in it.
    """
    source = statement.source
    plan = answer_of(Binder(source, catalog).body(statement.body)[0])
    reads = next((s.name for s in logical.streams(plan) if s.table is None), None)
    if reads is not None:
        name = statement.name.text
        raise source.error(
            f"{reads} is a stream, which never ends, and a table is filled once",
            statement.body.span,
            f"Write CREATE VIEW {name} AS SELECT ..., which is kept up to date, or CREATE STREAM {name} AS SELECT ....",
        )
    if statement.columns is not None:
        plan = _renamed(plan, statement.columns, source, statement.name)
    return query_of(plan, Emit(), statement.text)


def _renamed(plan: Plan, names: tuple[Name, ...], source: SourceText, stream: Name) -> Plan:
    if len(names) != len(plan.schema):
        raise source.error(
            f"{len(names)} names for {len(plan.schema)} columns",
            names[0].span.to(names[-1].span),
            f"Name each of them: {', '.join(plan.schema.names)}.",
        )
    seen: set[str] = set()
    for name in names:
        if name.text.lower() in seen:
            raise source.error(f"two columns are called {name.text}", name.span, "Give one of them another name.")
        seen.add(name.text.lower())
    items = tuple((n.text, Column(f.name, f.dtype)) for n, f in zip(names, plan.schema, strict=True))
    return Project(plan, items, Schema(tuple(Field(n, e.dtype) for n, e in items)))
