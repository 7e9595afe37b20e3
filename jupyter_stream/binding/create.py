"""CREATE STREAM, from what is written to a declared stream: its columns, its time, its progress."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

import polars as pl

from jupyter_stream.binding.bind_constraint import bind_constraints, order_of, ordered_clause
from jupyter_stream.binding.event_time import (
    asks_for_latent,
    could_be_the_time,
    dates_as_times,
    is_time,
    numbers_as_times,
    texts_like_times,
    with_a_time,
)
from jupyter_stream.binding.nameable import nameable
from jupyter_stream.binding.prepared import FORMAT, numbered_field, prepared, read_as_text
from jupyter_stream.core.schema import Field, Schema, type_name
from jupyter_stream.errors import QueryError
from jupyter_stream.plan.catalog import (
    AHEAD,
    AHEAD_OF_CLOCK,
    ENABLINGS,
    Catalog,
    Enabling,
    ForTables,
    OpenSource,
    Progress,
    PunctuationColumn,
    Retypes,
    Slack,
    StreamDef,
    TimeSpec,
    Watermark,
)
from jupyter_stream.plan.time_of import CURRENT_TIME
from jupyter_stream.syntax.diagnose import did_you_mean, nearest
from jupyter_stream.syntax.dialect import as_written
from jupyter_stream.syntax.durations import parse_duration
from jupyter_stream.syntax.option_places import placed_at_option
from jupyter_stream.syntax.source_text import Name, SourceText, Span
from jupyter_stream.syntax.syntax import ColumnDef, CreateStream, WithOption

OpenSourceFunction: TypeAlias = Callable[[str, Schema | None, Mapping[str, str]], OpenSource]
"""Opens a source: its URI, the declared columns if any, and its own options."""

OPTIONS: tuple[str, ...] = (
    "slack", "punctuation", "punctuation_key", "idle_timeout", "progress", "time", "ahead", FORMAT,
)  # fmt: skip
"""Options of WITH that say how a stream progresses; all others are the source's."""

_ROWS = re.compile(r"\s*(\d+)\s*rows?\s*", re.IGNORECASE)
_MISSPELT = 0.8


def bind_stream(statement: CreateStream, open_source: OpenSourceFunction, catalog: Catalog | None = None) -> StreamDef:
    """A declared stream, its source opened.

    Args:
        statement: the parsed CREATE STREAM.
        open_source: opens the source; its `SourceError`s are given the place of the URI.
        catalog: where the streams that its FOREIGN KEYs refer to are; None for a table, whose rows are read with it.

    Raises:
        QueryError: columns, time or options that don't fit together, a source that is for tables alone.
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
        opened, read, dated = _opened(statement, declared, open_source, own, catalog)
    except QueryError as error:
        if error.line is not None:
            raise
        raise placed_at_option(error, source, statement.options, statement.uri_span) from None
    if catalog is not None and isinstance(opened, ForTables):
        raise source.error(
            "the rows of a database have no order in which they arrived",
            statement.uri_span,
            f"Declare a table, and join streams with it: CREATE TABLE {statement.name.text} ... WITH (refresh = '10 seconds').",
        )
    base = read if read is not None else opened.schema
    if not len(base):
        raise source.error(
            "this source has no columns", statement.uri_span, "Declare them: CREATE STREAM name (a INT, ...)."
        )
    made = prepared(statement, opened, declared, base)
    statement, schema = made.statement, made.schema
    time = replace(_time(statement, schema, options, internal, live=not opened.replayable), dates=dated)
    time = time if catalog is None else _asking_of_texts(time, statement, opened)
    time = replace(time, enabling=_enabling(options.get("progress"), time, source))
    return StreamDef(
        name=statement.name.text,
        schema=schema,
        time=time,
        uri=statement.uri,
        source=opened,
        options={name: o.value for name, o in options.items()},
        text=statement.text,
        constraints=bind_constraints(statement, schema, time, catalog),
        steps=made.steps,
    )


def _opened(
    statement: CreateStream,
    declared: Schema | None,
    open_source: OpenSourceFunction,
    own: Mapping[str, str],
    catalog: Catalog | None,
) -> tuple[OpenSource, Schema | None, bool]:
    """The source, the columns it was asked for, and whether its time is one of dates."""
    read, dated = read_as_text(statement, declared), None
    opened = open_source(statement.uri, read, own)
    if read is None:
        opened = nameable(opened, lambda named: open_source(statement.uri, named, own))
    counted = numbered_field(statement, opened.schema)
    if counted is None and not _computes_its_time(statement):
        dated = None if catalog is None else dates_as_times(statement, opened.schema)
        counted = dated or numbers_as_times(statement, opened.schema)
    if counted is not None:
        found = opened if read is None and isinstance(opened, Retypes) else None
        opened = open_source(statement.uri, counted, own) if found is None else found.retyped(counted)
        read = counted
    return opened, read, dated is not None


def _computes_its_time(statement: CreateStream) -> bool:
    """Whether its time is computed, or read from a field or from texts: no column of the source is it."""
    named = {c.name.text.lower() for c in statement.computed}
    time = statement.order_by or (None if statement.watermark is None else statement.watermark.column)
    path = statement.order_path or (None if statement.watermark is None else statement.watermark.path)
    return path is not None or (time is not None and time.text.lower() in named)


def _asking_of_texts(time: TimeSpec, statement: CreateStream, source: OpenSource) -> TimeSpec:
    """Where nothing is said of the time, and text looks like one, a query that needs a time asks."""
    said = statement.columns is not None or any(o.name.text == "time" for o in statement.options)
    open_ended = time.kind == "latent" and not time.undecided and not said
    return replace(time, undecided=texts_like_times(source)) if open_ended else time


def declared_columns(columns: tuple[ColumnDef, ...] | None, source: SourceText, internal: bool) -> Schema | None:
    """The columns as declared, None if none are. Raises `QueryError` where two have one name."""
    if columns is None:
        return None
    seen: dict[str, Name] = {}
    fields = []
    for column in columns:
        lower = column.name.text.lower()
        if lower in seen:
            raise source.error(
                f"two columns are called {column.name.text}", column.name.span, "Give one of them another name."
            )
        seen[lower] = column.name
        if internal and lower == CURRENT_TIME:
            continue  # stamped on arrival, not read from the source (stream-mill's declaration lists it)
        fields.append(Field(column.name.text, column.dtype))
    return Schema(tuple(fields))


def _time(
    statement: CreateStream, schema: Schema, options: Mapping[str, WithOption], internal: bool, *, live: bool
) -> TimeSpec:
    source, column = statement.source, options.get("punctuation")
    promises = _promises(statement, options)
    idle = _idle_timeout(options.get("idle_timeout"), source)
    key = options.get("punctuation_key")
    if key is not None and column is None:
        raise source.error(
            "punctuation_key needs punctuation",
            key.name.span,
            "Write WITH (punctuation = 'p', punctuation_key = 'k').",
        )
    if internal:
        if promises:
            raise source.error(
                "with ORDER BY current_time rows get their time when they arrive, and are never late",
                promises[0],
                "Leave this out, or ORDER BY a column.",
            )
        return TimeSpec("internal", CURRENT_TIME, Watermark(0, declared=False), idle)
    named = _named_time(statement)
    if asks_for_latent(options.get("time"), [*promises, *([named.span] if named is not None else [])], source):
        return TimeSpec("latent", CURRENT_TIME, Watermark(0, declared=False))
    if named is None:
        times = could_be_the_time(schema, column.value if column is not None else None)
        if len(times) != 1:
            if promises or idle is not None:
                place = promises[0] if promises else options["idle_timeout"].name.span
                raise source.error(
                    "this stream has no time column, and this option needs one",
                    place,
                    f"Name the time column: ORDER BY {as_written((*times, 'ts')[0])}.",
                )
            return TimeSpec("latent", CURRENT_TIME, Watermark(0, declared=False), undecided=times)
        field = schema.find(times[0])
        assert field is not None
    else:
        field = time_column(named, schema, source, statement)
    progress = _progress(statement, schema, options, field)
    ahead, of = _ahead(options.get("ahead"), source, live=live)
    return TimeSpec("external", field.name, progress, idle, named is None, ahead=ahead, ahead_of=of)


def _promises(statement: CreateStream, options: Mapping[str, WithOption]) -> list[Span]:
    """Where it is said how the stream progresses: in one place at the most."""
    watermark, ordered = statement.watermark, ordered_clause(statement)
    slack, column = options.get("slack"), options.get("punctuation")
    said = [] if watermark is None else [watermark.span]
    said += [option.name.span for option in (slack, column) if option is not None]
    if len(said) > 1:
        raise statement.source.error(
            "a stream can have only one watermark or order",
            said[1],
            "Keep one of WATERMARK FOR, slack and punctuation.",
        )
    # beside another promise, ORDERED is none of progress
    return [ordered.span] if not said and ordered is not None else said


def _named_time(statement: CreateStream) -> Name | None:
    """The time column, where any clause names it; all that do name the same."""
    source, order = statement.source, statement.order_by
    watermark, ordered = statement.watermark, ordered_clause(statement)
    if watermark is not None and order is not None and watermark.column.text.lower() != order.text.lower():
        raise source.error(
            f"ORDER BY names {order.text}, and WATERMARK FOR names {watermark.column.text}", watermark.column.span,
            "Write the same column in both, or only one of the two.",
        )  # fmt: skip
    first = order if order is not None or watermark is None else watermark.column
    if ordered is not None and first is not None and ordered.column.text.lower() != first.text.lower():
        raise source.error(
            f"the stream is ordered by {first.text}, and ORDERED names {ordered.column.text}", ordered.column.span,
            f"ORDERED must name the time column: write ORDERED ({first.text}).",
        )  # fmt: skip
    return ordered.column if first is None and ordered is not None else first


def _with_a_time(statement: CreateStream, schema: Schema, time: Field) -> str:
    options = {o.name.text: o.value for o in statement.options}
    return with_a_time(statement.name.text, schema, time.name, statement.uri, options)


def time_column(name: Name, schema: Schema, source: SourceText, statement: CreateStream | None = None) -> Field:
    """The column of that name, which can be a time. Raises `QueryError` where it can't, or isn't there."""
    field = schema.find(name.text)
    if field is None:
        times = [f.name for f in schema if is_time(f.dtype)]
        hint = did_you_mean(name.text, [*times, CURRENT_TIME], "time columns")
        raise source.error(f"there is no column called {name.text}", name.span, hint)
    if not is_time(field.dtype):
        hint = "A time column must be a TIMESTAMP, or a BIGINT of microseconds."
        if field.dtype.is_float() and statement is not None:
            hint = "If it counts seconds since 1970, write WITH (timestamp_unit = 's')."
        elif isinstance(field.dtype, pl.String):
            hint = (
                f"If it holds times such as '2024-01-01 10:00', write {_with_a_time(statement, schema, field)}"
                if statement is not None and statement.columns is None
                else f"{hint} Or compute one from it: to_timestamp({field.name}, 'yyyy-MM-dd HH:mm:ss') AS {schema.free('at')}."
            )
        raise source.error(f"{field.name} is {type_name(field.dtype)} and can't be the time column", name.span, hint)
    return field


def _progress(statement: CreateStream, schema: Schema, options: Mapping[str, WithOption], time: Field) -> Progress:
    source = statement.source
    if statement.watermark is not None:
        return Watermark(statement.watermark.delay)
    slack = options.get("slack")
    if slack is not None:
        rows = _ROWS.fullmatch(slack.value)
        if rows is not None:
            return Slack(int(rows[1]))
        delay = parse_duration(slack.value)
        if delay is None:
            raise source.error(
                "slack takes a number of rows or a length of time",
                slack.value_span,
                "Write slack = '10 rows' or slack = '5 seconds'.",
            )
        return Watermark(delay)
    punctuation = options.get("punctuation")
    if punctuation is None:
        ordered = ordered_clause(statement)
        return Watermark(0, declared=False) if ordered is None else order_of(ordered)
    field = _option_column(punctuation, schema, source)
    if not is_time(field.dtype):
        raise source.error(
            f"the column of punctuations must be a time, and {field.name} is {type_name(field.dtype)}",
            punctuation.value_span,
        )
    if field.name == time.name:
        raise source.error(
            "punctuations need a column of their own, not the time column",
            punctuation.value_span,
            "Name another column: a row with a value in it is a punctuation, and not data.",
        )
    key = options.get("punctuation_key")
    return PunctuationColumn(field.name, _option_column(key, schema, source).name if key is not None else None)


def _option_column(option: WithOption, schema: Schema, source: SourceText) -> Field:
    field = schema.find(option.value.strip())
    if field is None:
        hint = did_you_mean(option.value.strip(), schema.names, "columns")
        raise source.error(f"there is no column called {option.value}", option.value_span, hint)
    return field


def _idle_timeout(option: WithOption | None, source: SourceText) -> int | None:
    if option is None:
        return None
    micros = parse_duration(option.value)
    if micros is None or micros <= 0:
        raise source.error(
            "idle_timeout takes a length of time", option.value_span, "Write idle_timeout = '2 seconds'."
        )
    return micros


def _enabling(option: WithOption | None, time: TimeSpec, source: SourceText) -> Enabling | None:
    """When enabling time stamps are to be made; an external stream has them if `idle_timeout` lets the clock speak for it."""
    if option is None:
        return None
    enabling = Enabling.parse(option.value)
    if enabling is None:
        raise source.error(
            f"progress can't be '{option.value}'", option.value_span, f"It takes {ENABLINGS}."
        )  # fmt: skip
    if time.kind == "latent":
        raise source.error(
            "rows of this stream get their time from the first operator that needs one, so none ever waits for it",
            option.name.span, "Leave progress out, or ORDER BY current_time: rows then get their time when they arrive.",
        )  # fmt: skip
    if not time.by_clock and enabling.every is not None:
        raise source.error(
            f"the clock says nothing of this stream: its time is its column {time.column}", option.name.span,
            "Write idle_timeout = '2 seconds' as well: the clock then speaks for the stream while it is silent.",
        )  # fmt: skip
    return enabling


def _ahead(
    option: WithOption | None, source: SourceText, *, live: bool
) -> tuple[int | None, Literal["clock", "rows", "both"]]:
    """How far rows may be ahead, and of what: a live stream's of the clock, a replay's of the rows before, where it is said."""
    if option is None:
        return (AHEAD_OF_CLOCK, "clock") if live else (AHEAD, "both")
    if option.value.strip().lower() in ("any", "off"):
        return None, "both"
    micros = parse_duration(option.value)
    if micros is None or micros <= 0:
        raise source.error(
            "ahead takes a length of time, or 'off'", option.value_span, "Write ahead = '5 minutes', or ahead = 'off'."
        )
    return micros, "clock" if live else "rows"


def ahead_of(options: Mapping[str, str], *, live: bool) -> tuple[int | None, Literal["clock", "rows", "both"]]:
    """The same for a stream over the source of one whose options were looked at."""
    text = options.get("ahead")
    if text is None:
        return (AHEAD_OF_CLOCK, "clock") if live else (AHEAD, "both")
    return parse_duration(text), "clock" if live else "rows"
