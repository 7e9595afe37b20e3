"""CREATE STREAM, from what is written to a declared stream: its columns, its time, its progress."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

import polars as pl

from jupyter_stream.core.schema import Field, Schema, type_name
from jupyter_stream.errors import QueryError
from jupyter_stream.language.bind_constraint import bind_constraints, order_of, ordered_clause
from jupyter_stream.language.diagnose import did_you_mean, nearest
from jupyter_stream.language.durations import parse_duration
from jupyter_stream.language.scope import CURRENT_TIME
from jupyter_stream.language.source_text import Name, SourceText
from jupyter_stream.language.syntax import ColumnDef, CreateStream, Option
from jupyter_stream.plan.catalog import (
    Catalog,
    OpenSource,
    Progress,
    PunctuationColumn,
    Slack,
    StreamDef,
    TimeSpec,
    Watermark,
)

OpenSourceFunction: TypeAlias = Callable[[str, Schema | None, Mapping[str, str]], OpenSource]
"""Opens a source: its URI, the declared columns if any, and its own options."""

OPTIONS: tuple[str, ...] = ("slack", "punctuation", "punctuation_key", "idle_timeout")
"""Options of WITH that say how a stream progresses; all others are the source's."""

_ROWS = re.compile(r"\s*(\d+)\s*rows?\s*", re.IGNORECASE)
_MISSPELT = 0.8


def bind_stream(statement: CreateStream, open_source: OpenSourceFunction, catalog: Catalog | None = None) -> StreamDef:
    """A declared stream, its source opened.

    Args:
        statement: the parsed CREATE STREAM.
        open_source: opens the source; its `SourceError`s are given the place of the URI.
        catalog: where the streams that its FOREIGN KEYs refer to are; None to take these as they are written.

    Raises:
        QueryError: columns, time or options that don't fit together.
        SourceError: what the URI names isn't there.
    """
    source = statement.source
    options = {o.name.text: o for o in statement.options}
    for option in statement.options:
        meant = nearest(option.name.text, OPTIONS, _MISSPELT)
        if meant is not None and meant != option.name.text:
            raise source.error(
                f"there is no option called {option.name.text}", option.name.span, f"Did you mean {meant}?"
            )
    internal = statement.order_by is not None and statement.order_by.text.lower() == CURRENT_TIME
    declared = declared_columns(statement.columns, source, internal)
    own = {name: o.value for name, o in options.items() if name not in OPTIONS}
    try:
        opened = open_source(statement.uri, declared, own)
    except QueryError as error:
        if error.line is not None:
            raise
        raise source.error(error.message, statement.uri_span, error.hint, type(error)) from None
    schema = declared if declared is not None else opened.schema
    if not len(schema):
        raise source.error(
            "this source has no columns", statement.uri_span, "Declare them: CREATE STREAM name (a INT, ...)."
        )
    time = _time(statement, schema, options, internal)
    return StreamDef(
        name=statement.name.text,
        schema=schema,
        time=time,
        uri=statement.uri,
        source=opened,
        options={name: o.value for name, o in options.items()},
        text=statement.text,
        constraints=bind_constraints(statement, schema, time, catalog),
    )


def declared_columns(columns: tuple[ColumnDef, ...] | None, source: SourceText, internal: bool) -> Schema | None:
    """The columns as declared, None if none are. Raises `QueryError` where two have one name."""
    if columns is None:
        return None
    seen: dict[str, Name] = {}
    fields = []
    for column in columns:
        lower = column.name.text.lower()
        if lower in seen:
            raise source.error(f"two columns are called {column.name.text}", column.name.span)
        seen[lower] = column.name
        if internal and lower == CURRENT_TIME:
            continue  # stamped on arrival, not read from the source (stream-mill's declaration lists it)
        fields.append(Field(column.name.text, column.dtype))
    return Schema(tuple(fields))


def _time(statement: CreateStream, schema: Schema, options: Mapping[str, Option], internal: bool) -> TimeSpec:
    source = statement.source
    watermark = statement.watermark
    ordered = ordered_clause(statement)
    slack, column = options.get("slack"), options.get("punctuation")
    said = [
        span
        for span in (
            watermark.span if watermark is not None else None,
            ordered.span if ordered is not None else None,
            slack.name.span if slack is not None else None,
            column.name.span if column is not None else None,
        )
        if span is not None
    ]
    if len(said) > 1:
        raise source.error(
            "a stream says once how it progresses",
            said[1],
            "Keep one of WATERMARK FOR, ORDERED, slack and punctuation.",
        )
    idle = _idle_timeout(options.get("idle_timeout"), source)
    key = options.get("punctuation_key")
    if key is not None and column is None:
        raise source.error(
            "punctuation_key goes with punctuation",
            key.name.span,
            "Write WITH (punctuation = 'p', punctuation_key = 'k').",
        )
    order = statement.order_by
    if internal:
        if said:
            raise source.error(
                "times stamped on arrival are never late", said[0], "Leave this out, or ORDER BY a column."
            )
        return TimeSpec("internal", CURRENT_TIME, Watermark(0, declared=False), idle)
    if watermark is not None and order is not None and watermark.column.text.lower() != order.text.lower():
        raise source.error(
            f"the stream is ordered by {order.text}, and the watermark is for {watermark.column.text}", watermark.column.span,
            "They are for the same column; either of them is enough.",
        )  # fmt: skip
    if ordered is not None and order is not None and ordered.column.text.lower() != order.text.lower():
        raise source.error(
            f"the stream is ordered by {order.text}, and this is about {ordered.column.text}", ordered.column.span,
            f"Only the order of the time column can be told: write ORDERED ({order.text}).",
        )  # fmt: skip
    named = order
    for declared in (watermark, ordered):
        if named is None and declared is not None:
            named = declared.column
    if named is None:
        if said or idle is not None:
            place = said[0] if said else options["idle_timeout"].name.span
            raise source.error("this stream has no time column to progress on", place, "Say which: ORDER BY ts.")
        return TimeSpec("latent", CURRENT_TIME, Watermark(0, declared=False))
    field = _time_field(named, schema, source)
    return TimeSpec("external", field.name, _progress(statement, schema, options, field), idle)


def _time_field(name: Name, schema: Schema, source: SourceText) -> Field:
    field = schema.find(name.text)
    if field is None:
        times = [f.name for f in schema if _is_time(f.dtype)]
        hint = did_you_mean(name.text, [*times, CURRENT_TIME], "time columns")
        raise source.error(f"there is no column called {name.text}", name.span, hint)
    if not _is_time(field.dtype):
        hint = "A time column is a TIMESTAMP, or a BIGINT of microseconds."
        if isinstance(field.dtype, pl.Date):
            hint += " Declare the column as TIMESTAMP: dates are read as midnight."
        raise source.error(f"{field.name} is {type_name(field.dtype)}, which is no time", name.span, hint)
    return field


def _progress(statement: CreateStream, schema: Schema, options: Mapping[str, Option], time: Field) -> Progress:
    source = statement.source
    if statement.watermark is not None:
        return Watermark(statement.watermark.delay)
    ordered = ordered_clause(statement)
    if ordered is not None:
        return order_of(ordered)
    slack = options.get("slack")
    if slack is not None:
        rows = _ROWS.fullmatch(slack.value)
        if rows is not None:
            return Slack(int(rows[1]))
        delay = parse_duration(slack.value)
        if delay is None:
            raise source.error(
                "slack is a number of rows or a length of time",
                slack.value_span,
                "Write slack = '10 rows' or slack = '5 seconds'.",
            )
        return Watermark(delay)
    punctuation = options.get("punctuation")
    if punctuation is None:
        return Watermark(0, declared=False)
    field = _option_column(punctuation, schema, source)
    if not _is_time(field.dtype):
        raise source.error(f"{field.name} is {type_name(field.dtype)}: a punctuation is a time", punctuation.value_span)
    if field.name == time.name:
        raise source.error(
            "the punctuation has a column of its own",
            punctuation.value_span,
            "Rows that have a value there are not data.",
        )
    key = options.get("punctuation_key")
    return PunctuationColumn(field.name, _option_column(key, schema, source).name if key is not None else None)


def _option_column(option: Option, schema: Schema, source: SourceText) -> Field:
    field = schema.find(option.value.strip())
    if field is None:
        hint = did_you_mean(option.value.strip(), schema.names, "columns")
        raise source.error(f"there is no column called {option.value}", option.value_span, hint)
    return field


def _idle_timeout(option: Option | None, source: SourceText) -> int | None:
    if option is None:
        return None
    micros = parse_duration(option.value)
    if micros is None or micros <= 0:
        raise source.error("idle_timeout is a length of time", option.value_span, "Write idle_timeout = '2 seconds'.")
    return micros


def _is_time(dtype: pl.DataType) -> bool:
    return isinstance(dtype, pl.Datetime | pl.Int64 | pl.Int32)
