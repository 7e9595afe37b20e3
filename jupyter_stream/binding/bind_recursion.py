"""WITH RECURSIVE over tables: a table whose rows are worked out, round by round, where somebody reads it.

WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 5) SELECT * FROM r
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from jupyter_stream.binding.as_relation import Lives
from jupyter_stream.binding.bind_table import LATENT
from jupyter_stream.binding.forms.column_aliases import renamed
from jupyter_stream.binding.scope import Scope
from jupyter_stream.core.schema import Field, Schema, type_name
from jupyter_stream.core.table import RecursiveRows, TableRows
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions import Column, cast, common_type
from jupyter_stream.plan.catalog import Catalog, StreamDef
from jupyter_stream.plan.logical import Lookup, Plan, Project, Scan, TableRelation, walk
from jupyter_stream.plan.relations import only_tables
from jupyter_stream.syntax.query_syntax import QueryBody, RecursiveRef
from jupyter_stream.syntax.source_text import SourceText, Span
from jupyter_stream.windows import LifetimeWindow

BindBody: TypeAlias = Callable[[QueryBody], tuple[Plan, Lives]]
_WIDENINGS = 3
"""How often the columns of the first rows may get a wider type by what a round makes of them."""


def bind_recursion(item: RecursiveRef, catalog: Catalog, source: SourceText, bind_body: BindBody) -> Scope:
    """The rows of a name of WITH RECURSIVE.

    Raises:
        QueryError: a mistake in it, or rounds with other columns.
        UnsupportedError: a stream in it.
    """
    if item.window is not None:
        raise source.error(
            f"{item.name.text} is a table, and windows need a stream", item.window.span, "Remove the window."
        )
    qualifiers = () if item.alias is None else (item.alias.text.lower(),)
    made = catalog.recursions.get(item.step)  # read twice, it is one table
    if made is None:
        made = catalog.recursions[item.step] = _table(item, catalog, source, bind_body)
    return Scope(Scan(made, made.schema), qualifiers, LifetimeWindow(None))


def _table(item: RecursiveRef, catalog: Catalog, source: SourceText, bind_body: BindBody) -> StreamDef:
    base, _ = bind_body(item.base)
    if item.columns:
        base = renamed(base, item.columns, item.base, source)
    schema = base.schema
    for _ in range(_WIDENINGS):
        work = TableRows(schema, schema.empty())
        step = _step(item, work, catalog, bind_body)
        wider = _common(item, schema, step.schema, source)
        if wider == schema:
            break
        schema = wider
    for plan, part in ((base, item.base), (step, item.step)):
        if not only_tables(plan):
            raise source.error(
                "WITH RECURSIVE reads a stream here, and can go through tables only",
                part.span,
                "Make a table of the rows, CREATE TABLE t AS SELECT ..., or write a view for each step.",
                UnsupportedError,
            )
    tables = {id(t): t for plan in (base, step) for t in _tables(plan) if t is not work}
    rows = RecursiveRows(
        item.name.text, schema, _as(base, schema), _as(step, schema), work, item.distinct, list(tables.values()),
        _refusing(source, item.name.span),
    )  # fmt: skip
    return StreamDef(f"WITH RECURSIVE {item.name.text}", schema, LATENT, "", catalog.reading(rows), table=rows)


def _refusing(source: SourceText, span: Span) -> Callable[[str, str], Exception]:
    return lambda message, hint: source.error(message, span, hint)


def _step(item: RecursiveRef, work: TableRows, catalog: Catalog, bind_body: BindBody) -> Plan:
    """What a round makes of the rows of the one before, which are a table for so long."""
    catalog.add(StreamDef(item.work, work.schema, LATENT, "", catalog.reading(work), table=work))
    try:
        return bind_body(item.step)[0]
    finally:
        catalog.drop(item.work)


def _common(item: RecursiveRef, first: Schema, later: Schema, source: SourceText) -> Schema:
    """The columns of the first rows in types that hold those of the later ones, too."""
    if len(first) != len(later):
        raise source.error(
            f"{item.name.text} begins with {len(first)} column{'s' * (len(first) > 1)} and goes on with {len(later)}",
            item.step.span,
            "Select the same columns in both parts of the UNION.",
        )
    fields = []
    for one, other in zip(first, later, strict=True):
        dtype = one.dtype if one.dtype == other.dtype else common_type((one.dtype, other.dtype))
        if dtype is None:
            raise source.error(
                f"{one.name} can't be {type_name(one.dtype)} and {type_name(other.dtype)}",
                item.step.span,
                "Cast one of them: CAST(x AS STRING).",
            )
        fields.append(Field(one.name, dtype))
    return Schema(tuple(fields))


def _as(plan: Plan, schema: Schema) -> Plan:
    """The plan with the names and types of a schema."""
    if plan.schema == schema:
        return plan
    columns = (Column(f.name, f.dtype) for f in plan.schema)
    items = tuple((want.name, cast(own, want.dtype)) for want, own in zip(schema, columns, strict=True))
    return Project(plan, items, schema)


def _tables(plan: Plan) -> list[TableRows]:
    found = []
    for node in walk(plan):
        table = node.stream.table if isinstance(node, Scan) else None
        if isinstance(node, Lookup | TableRelation):
            table = node.table.table
        if table is not None:
            found.append(table)
    return found


__all__ = ["bind_recursion"]
