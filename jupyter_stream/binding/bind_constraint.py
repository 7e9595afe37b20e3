"""Constraints of a declared stream, from what is written to what the catalog keeps: whether their columns are there."""

from __future__ import annotations

from typing import TypeAlias

from jupyter_stream.core.schema import Schema, type_name
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.plan.catalog import (
    Apart,
    Catalog,
    Clustered,
    Constraint,
    DerivedStream,
    Entry,
    Ordered,
    PunctuationColumn,
    References,
    TimeSpec,
    Watermark,
)
from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.parse_constraint import REFERENCE
from jupyter_stream.syntax.source_text import Name, SourceText
from jupyter_stream.syntax.syntax import ClusteredClause, CreateStream, OrderedClause, ReferenceClause

Clause: TypeAlias = ClusteredClause | OrderedClause | ReferenceClause


def ordered_clause(statement: CreateStream) -> OrderedClause | None:
    """The one that says how the stream progresses; raises `QueryError` for a second."""
    found = [c for c in statement.constraints if isinstance(c, OrderedClause)]
    if len(found) > 1:
        raise statement.source.error(
            "a stream can have only one watermark or order", found[1].span, "Keep one ORDERED, that of the time column."
        )
    return found[0] if found else None


def order_of(clause: OrderedClause) -> Apart | Watermark:
    """The progress it promises."""
    return Apart(clause.within) if clause.in_rows else Watermark(clause.within)


def bind_constraints(
    statement: CreateStream, schema: Schema, time: TimeSpec, catalog: Catalog | None
) -> tuple[Constraint, ...]:
    """What the stream's constraints promise.

    Args:
        statement: the parsed CREATE STREAM.
        schema: its columns.
        time: its time, bound from ORDERED among others.
        catalog: where the streams of FOREIGN KEY are; None to take them as they are written.

    Raises:
        QueryError: a column or stream that isn't there, or of another type.
    """
    source = statement.source
    found: list[Constraint] = []
    for clause in statement.constraints:
        match clause:
            case ClusteredClause():
                other = next((c for c in found if isinstance(c, Clustered)), None)
                if other is not None:
                    raise source.error(
                        "a second CLUSTERED isn't available in this version", clause.span, "Keep one of them.", UnsupportedError
                    )  # fmt: skip
                if isinstance(time.progress, PunctuationColumn) and time.progress.key is not None:
                    raise source.error(
                        "CLUSTERED together with punctuation_key isn't available in this version",
                        clause.span,
                        "Keep one of them: each says when no more rows of a value come.",
                        UnsupportedError,
                    )
                found.append(Clustered(_column(clause.column, schema, source), clause.rows))
            case OrderedClause():
                assert time.column is not None
                found.append(Ordered(time.column, order_of(clause)))
            case ReferenceClause():
                found.append(_reference(statement, clause, schema, catalog))
    return tuple(found)


def _reference(statement: CreateStream, clause: ReferenceClause, schema: Schema, catalog: Catalog | None) -> References:
    source = statement.source
    columns = tuple(_column(c, schema, source) for c in clause.columns)
    theirs = tuple(c.text for c in clause.theirs or clause.columns)
    name = clause.stream.text
    entry: Entry | None = None
    if catalog is not None:
        entry = catalog.find(name)
        if name.lower() == statement.name.text.lower():
            raise source.error("a stream can't refer to itself", clause.stream.span, REFERENCE)
        if entry is None:
            hint = did_you_mean(name, catalog.names, "streams") or "Declare the stream it refers to first."
            raise source.error(f"there is no stream called {name}", clause.stream.span, hint)
        if isinstance(entry, DerivedStream) or entry.table is not None:
            what = "a derived stream" if isinstance(entry, DerivedStream) else "a table"
            raise source.error(
                f"a FOREIGN KEY must refer to a stream with a SOURCE, and {name} is {what}",
                clause.stream.span,
                REFERENCE,
            )
        name = entry.name
        theirs = tuple(_column(c, entry.schema, source, name) for c in clause.theirs or clause.columns)
        for mine, other, written in zip(columns, theirs, clause.columns, strict=True):
            one, two = schema.find(mine), entry.schema.find(other)
            assert one is not None and two is not None
            if one.dtype != two.dtype and not (one.dtype.is_integer() and two.dtype.is_integer()):
                raise source.error(
                    f"{mine} is {type_name(one.dtype)}, and {name}.{other} is {type_name(two.dtype)}", written.span
                )
    return References(columns, name, theirs, clause.within)


def _column(name: Name, schema: Schema, source: SourceText, stream: str | None = None) -> str:
    field = schema.find(name.text)
    if field is None:
        where = "" if stream is None else f" in {stream}"
        raise source.error(
            f"there is no column called {name.text}{where}", name.span, did_you_mean(name.text, schema.names, "columns")
        )
    return field.name


__all__ = ["bind_constraints", "order_of", "ordered_clause"]
