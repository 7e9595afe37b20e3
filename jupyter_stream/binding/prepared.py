"""What becomes of a source's rows before they are a stream's: computed columns, times in fields and in texts, WHERE.

Each row by itself, and before its time is looked at: so a computed column can be the time, and rows that WHERE leaves out move
no punctuation. Not for how they are computed: `flow`'s operators do that, in front of either engine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from jupyter_stream.binding.bind_aggregate import InputNames
from jupyter_stream.binding.bind_expression import ExpressionBinder
from jupyter_stream.binding.scope import Scope
from jupyter_stream.core.schema import TIMESTAMP, Field, Schema, type_name
from jupyter_stream.functions import Call, Column, Expr, Literal, cast
from jupyter_stream.functions.expression import columns
from jupyter_stream.functions.types import instance
from jupyter_stream.plan.catalog import Computed, Kept, OpenSource, Step, StreamDef, TimeSpec, Watermark
from jupyter_stream.plan.logical import Scan
from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.dialect import as_written
from jupyter_stream.syntax.nodes import ColumnRef, Constant, FieldOf, Node, walk
from jupyter_stream.syntax.source_text import Name
from jupyter_stream.syntax.syntax import CreateStream

FORMAT = "timestamp_format"
"""The option that says how times are written in texts."""


@dataclass(frozen=True)
class Prepared:
    """The columns of a stream, and how they come about.

    Attributes:
        statement: CREATE STREAM, its time a column where it was written as a field.
        schema: the stream's columns.
        steps: from the source's columns to them.
    """

    statement: CreateStream
    schema: Schema
    steps: tuple[Step, ...]


def read_as_text(statement: CreateStream, declared: Schema | None) -> Schema | None:
    """The columns a source is to give: with `timestamp_format`, times are read as the texts they are."""
    if declared is None or not _has_format(statement):
        return declared
    return Schema(tuple(replace(f, dtype=_texts(f.dtype)) for f in declared))


def _texts(dtype: pl.DataType) -> pl.DataType:
    return pl.String() if isinstance(dtype, pl.Datetime) else dtype


def numbered_field(statement: CreateStream, schema: Schema) -> Schema | None:
    """The columns where `timestamp_unit` says that the field which is the time holds numbers: it is a TIMESTAMP then."""
    names = _path(statement)
    if names is None or not any(o.name.text == "timestamp_unit" for o in statement.options):
        return None
    field = schema.find(names[0])
    changed = None if field is None else _retyped(field.dtype, names[1:])
    if field is None or changed is None:
        return None
    return Schema(tuple(replace(f, dtype=changed) if f is field else f for f in schema))


def _retyped(dtype: pl.DataType, path: tuple[str, ...]) -> pl.DataType | None:
    """The type with a TIMESTAMP where numbers are at the end of a path; None where they aren't."""
    if not path:
        return TIMESTAMP if dtype.is_numeric() else None
    if not isinstance(dtype, pl.Struct):
        return None
    found = next((f for f in dtype.fields if f.name.lower() == path[0].lower()), None)
    inner = None if found is None else _retyped(instance(found.dtype), path[1:])
    if inner is None:
        return None
    return pl.Struct([pl.Field(f.name, inner if f is found else f.dtype) for f in dtype.fields])


def _path(statement: CreateStream) -> tuple[str, ...] | None:
    """The names of the field that is the time; None where it is a column."""
    node = statement.order_path
    if node is None and statement.watermark is not None:
        node = statement.watermark.path
    names: list[str] = []
    while isinstance(node, FieldOf):
        names.append(node.name.text)
        node = node.inner
    if not isinstance(node, ColumnRef) or node.qualifier is None:
        return None
    return (node.qualifier.text, node.name.text, *reversed(names))


def _has_format(statement: CreateStream) -> bool:
    return any(o.name.text == FORMAT for o in statement.options)


def prepared(statement: CreateStream, opened: OpenSource, declared: Schema | None, base: Schema) -> Prepared:
    """The columns of a stream from those of its source.

    Args:
        statement: as written.
        opened: the source.
        declared: the columns as declared, None if none are.
        base: those the source gives.

    Raises:
        QueryError: an expression that can't be, or a column that there is already.
    """
    return _Preparing(statement, opened, declared, base).made()


class _Preparing:
    def __init__(self, statement: CreateStream, opened: OpenSource, declared: Schema | None, base: Schema) -> None:
        self._statement, self._opened, self._base, self._declared = statement, opened, base, declared
        self._scope = self._over(base)
        self._computed: dict[str, Expr] = {}

    def made(self) -> Prepared:
        statement = self._statement
        items: list[tuple[str, Expr]] = [(f.name, Column(f.name, f.dtype)) for f in self._base]
        items = self._times(items)
        for number, column in enumerate(statement.computed):
            self._check_free(column.name, [name for name, _ in items])
            value = self._bind(column.expression, "a computed column")
            if isinstance(value.dtype, pl.Null):
                value = cast(value, pl.String())
            at = column.place + number if statement.columns is not None else len(items)
            items.insert(at, (column.name.text, value))
            self._computed[column.name.text.lower()] = value
        statement, items = self._field_as_column(statement, items)
        schema = Schema(tuple(Field(name, value.dtype) for name, value in items))
        where = None if statement.where is None else self._where(statement.where, schema)
        steps: list[Step] = []
        if any(value != Column(name, value.dtype) for name, value in items):
            steps.append(Computed(tuple(items)))
        if where is not None:
            steps.insert(0 if where[1] else len(steps), Kept(where[0]))
        return Prepared(statement, schema, tuple(steps))

    # -- times -------------------------------------------------------------------------------------------------------

    def _times(self, items: list[tuple[str, Expr]]) -> list[tuple[str, Expr]]:
        """Texts in the form of `timestamp_format` as times."""
        option = next((o for o in self._statement.options if o.name.text == FORMAT), None)
        if option is None:
            return items
        texts = {f.name for f in self._base if isinstance(f.dtype, pl.String)}
        if self._declared is not None:
            named = {f.name for f in self._declared if isinstance(f.dtype, pl.Datetime)} & texts
        else:
            named = self._named(texts)
        if not named and _path(self._statement) is None:
            raise self._statement.source.error(
                f"{FORMAT} says how times are written, and no column is named that holds any",
                option.name.span,
                f"Declare one TIMESTAMP, or name it: ORDER BY {as_written(min(texts, default='ts'))}.",
            )
        found = [(name, self._as_time(value) if name in named else value) for name, value in items]
        self._computed |= {name.lower(): value for name, value in found if name in named}
        return found

    def _named(self, texts: set[str]) -> set[str]:
        """Columns that are times, where none were declared: the one that is named, or the only one of texts."""
        statement = self._statement
        name = statement.order_by or (None if statement.watermark is None else statement.watermark.column)
        if _path(statement) is not None:
            return set()
        if name is None:
            return texts if len(texts) == 1 else set()
        return {t for t in texts if t.lower() == name.text.lower()}

    def _as_time(self, value: Expr) -> Expr:
        """A text as a time: in the form that was given, else as times are written."""
        option = next(o for o in self._statement.options if o.name.text == FORMAT)
        pattern = Literal(option.value, pl.String())
        node = Constant(option.value, pl.String(), option.value_span)
        binder = self._binder(FORMAT)
        formed = binder.call("try_to_timestamp", [value, pattern], node)
        null = binder.call("is_null", [formed], node)
        return Call("case", (null, cast(value, TIMESTAMP), formed), TIMESTAMP)

    def _field_as_column(
        self, statement: CreateStream, items: list[tuple[str, Expr]]
    ) -> tuple[CreateStream, list[tuple[str, Expr]]]:
        """With a column for the field that is named as the time."""
        watermark = statement.watermark
        path = statement.order_path or (None if watermark is None else watermark.path)
        if path is None:
            return statement, items
        last = statement.order_by
        if statement.order_path is None and watermark is not None:
            last = watermark.column
        assert last is not None
        value = self._bind(path, "the time")
        if isinstance(value.dtype, pl.Date):
            value = cast(value, TIMESTAMP)
        if isinstance(value.dtype, pl.String):
            if not _has_format(statement):
                raise statement.source.error(
                    f"{statement.source.slice(last.span)} is STRING and can't be the time", last.span,
                    f"Say how the times are written, WITH ({FORMAT} = 'yyyy-MM-dd HH:mm:ss'), or declare a column: "
                    f"{last.text} AS to_timestamp({statement.source.slice(last.span)}, 'yyyy-MM-dd HH:mm:ss').",
                )  # fmt: skip
            value = self._as_time(value)
        if not isinstance(value.dtype, pl.Datetime | pl.Int64 | pl.Int32):
            raise statement.source.error(
                f"{statement.source.slice(last.span)} is {type_name(value.dtype)} and can't be the time", last.span,
                "A time must be a TIMESTAMP, or a BIGINT of microseconds.",
            )  # fmt: skip
        named = Name(Schema.of((n, v.dtype) for n, v in items).free(last.text), last.span)
        both = statement.order_path is not None and watermark is not None
        if both and watermark is not None and watermark.path != statement.order_path:
            raise statement.source.error(
                "ORDER BY and WATERMARK FOR name different times", watermark.span, "Write only one of the two."
            )  # fmt: skip
        changed = replace(
            statement,
            order_by=named if statement.order_path is not None else statement.order_by,
            watermark=None if watermark is None else replace(watermark, column=named if watermark.path else watermark.column),
        )  # fmt: skip
        return changed, [*items, (named.text, value)]

    # -- names -------------------------------------------------------------------------------------------------------

    def _where(self, node: Node, schema: Schema) -> tuple[Expr, bool]:
        """The condition, and whether it is of the source's columns alone, so that what it leaves out isn't computed."""
        named = {n.text.lower() for c in walk(node) if isinstance(c, ColumnRef) for n in (c.name, c.qualifier) if n}
        first = not named & set(self._computed)
        if not first:
            self._scope = self._over(schema)
        self._bind(node, "WHERE")
        return self._binder("WHERE").condition(node, "WHERE"), first

    def _over(self, schema: Schema) -> Scope:
        """Names of some columns."""
        statement = self._statement
        time = TimeSpec("latent", None, Watermark(0, declared=False))
        stream = StreamDef(statement.name.text, schema, time, statement.uri, self._opened)
        return Scope(Scan(stream, schema), (statement.name.text.lower(),))

    def _bind(self, node: Node, clause: str) -> Expr:
        self._check_columns(node)
        bound = self._binder(clause).bind(node)
        stamped = next((c for c in columns(bound) if c.startswith("$")), None)
        if stamped is not None:
            raise self._statement.source.error(
                "times of arrival and row numbers are not known yet when a row is read",
                node.span,
                "Use the columns of the source; in queries current_time and row_num are known.",
            )
        return bound

    def _check_columns(self, node: Node) -> None:
        """Refuse `metta.ts` where there is no such column: nothing is in FROM here that could be meant."""
        names = (*self._scope.schema.names, *self._computed)
        known = {n.lower() for n in (*names, *self._scope.qualifiers)}
        for ref in walk(node):
            if isinstance(ref, ColumnRef) and ref.qualifier is not None and ref.qualifier.text.lower() not in known:
                raise self._statement.source.error(
                    f"there is no column called {ref.qualifier.text}",
                    ref.qualifier.span,
                    did_you_mean(ref.qualifier.text, names, "columns"),
                )

    def _binder(self, clause: str) -> ExpressionBinder:
        source = self._statement.source
        return ExpressionBinder(source, InputNames(self._scope, source, clause, dict(self._computed)))

    def _check_free(self, name: Name, names: list[str]) -> None:
        if name.text.lower() in (n.lower() for n in names):
            raise self._statement.source.error(
                f"two columns are called {name.text}", name.span, "Give the computed one another name."
            )


__all__ = ["FORMAT", "Prepared", "numbered_field", "prepared", "read_as_text"]
