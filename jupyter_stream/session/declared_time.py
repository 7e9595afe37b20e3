"""What a declaration leaves open about a stream's time: what is assumed, what the values look like, how to say otherwise."""

from __future__ import annotations

import polars as pl

from jupyter_stream.binding.event_time import (
    clock_column,
    with_a_time,
    with_columns,
    with_day_and_clock,
    with_time_texts,
)
from jupyter_stream.core.instants import parse_instants
from jupyter_stream.core.time import other_unit
from jupyter_stream.engine.preparation import Preparation
from jupyter_stream.errors import SourceError
from jupyter_stream.plan.catalog import StreamDef, Watermark
from jupyter_stream.sources.late_fields import LateFields
from jupyter_stream.sources.protocol import Chunk, Peeks
from jupyter_stream.syntax.dialect import as_written

UNITS = {"s": "seconds", "ms": "milliseconds", "ns": "nanoseconds"}
"""Values of `timestamp_unit` but for our own, in words."""


def about_time(stream: StreamDef) -> str:
    """Sentences about the time of a stream that was just declared; empty where there is nothing to tell."""
    time = stream.time
    if time.kind == "internal" or "time" in stream.options:
        return ""
    if time.assumed:
        only = (
            f"{time.column} is its only DATE column, and there is no TIMESTAMP, so midnight (UTC) of that day is the event time."
            if time.dates
            else f"{time.column} is its only TIMESTAMP column, so it is the event time."
        )
        if time.dates and (clock := clock_column(stream)) is not None:
            return f"{only} {clock} looks like the time of that day: for both together write {with_day_and_clock(stream, clock)}."
        late, named = "DAY" if time.dates else "MINUTE", as_written(time.column or "")
        return (
            f"{only} If rows can come late, write "
            f"WATERMARK FOR {named} AS {named} - INTERVAL 1 {late}. "
            "For the time of arrival, write ORDER BY current_time."
        )
    if time.undecided and isinstance(_type(stream, time.undecided[0]), pl.String):
        return (
            f"It has no TIMESTAMP column. {time.undecided[0]} looks like a time: for windows of time, write "
            f"{with_time_texts(stream, time.undecided[0])}. For the time of arrival, write ORDER BY current_time."
        )
    if time.undecided:
        return (
            "It has several TIMESTAMP columns. For windows of time, name the one to use: "
            f"ORDER BY {as_written(time.undecided[0])}."
        )
    if time.kind == "external":
        return _counted(stream)
    if any(isinstance(f.dtype, pl.Datetime) for f in stream.schema):
        return ""
    return "It has no TIMESTAMP column, so windows of time go by the time of arrival." + _advice_on_units(stream)


def about_late_fields(stream: StreamDef, late: LateFields | None) -> list[str]:
    """A sentence about fields that came after the columns had been found, with the declaration that reads them."""
    types = {} if late is None else late.types
    if late is None or not types:
        return []
    names = ", ".join(".".join(path) for path in types) + (" and others" if late.more else "")
    schema, time = late.completed(stream.base), stream.time
    column = {"internal": "current_time", "external": time.column}.get(time.kind)
    written = with_a_time(stream.name, schema, column, stream.uri, stream.options)
    if stream.steps or stream.constraints or (isinstance(time.progress, Watermark) and time.progress.declared):
        written = f"{with_columns(stream.name, schema, column)[:-1]}, ...), the rest as it is"
    return [
        f"It has fields that no column reads, since they came after the first records: {names}. To read them, write {written}."
    ]


def _type(stream: StreamDef, column: str) -> pl.DataType | None:
    field = stream.schema.find(column)
    return None if field is None else field.dtype


def unit_advice(unit: str, column: str) -> str:
    """That integer times are in another unit than ours, and what to write."""
    return (
        f"The values of {column} look like {UNITS[unit]} since 1970, and are read as microseconds. "
        f"Declare the stream WITH (timestamp_unit = '{unit}')."
    )


def _counted(stream: StreamDef) -> str:
    """That a BIGINT time is in seconds, if it is."""
    field = stream.schema.find(stream.time.column or "")
    if field is None or not field.dtype.is_integer():
        return ""
    unit = _unit(_peek(stream).get_column(field.name))
    return "" if unit is None else unit_advice(unit, field.name)


def _advice_on_units(stream: StreamDef) -> str:
    rows = _peek(stream)
    for field in stream.schema:
        values = rows.get_column(field.name)
        unit = _unit(values)
        if unit is not None and isinstance(values.dtype, pl.String):
            line = with_a_time(
                stream.name, stream.schema, field.name, stream.uri, {**stream.options, "timestamp_unit": unit}
            )
            return f" {field.name} looks like {UNITS[unit]} since 1970; if it is the event time, write {line}."
        if unit is not None:
            return (
                f" {field.name} looks like {UNITS[unit]} since 1970; if it is the event time, write "
                f"ORDER BY {as_written(field.name)} and WITH (timestamp_unit = '{unit}')."
            )
        if _are_times(values):
            line = with_a_time(stream.name, stream.schema, field.name, stream.uri, stream.options)
            return f" {field.name} looks like a time; if it is the event time, write {line}"
    return ""


def _peek(stream: StreamDef) -> pl.DataFrame:
    source = stream.source
    if isinstance(source, Peeks) and source.replayable:
        try:
            return Preparation(stream).take(Chunk(source.peek())).frame
        except SourceError:
            pass  # the query that reads it says so
    return stream.schema.empty()


def _unit(values: pl.Series) -> str | None:
    """The unit that all values can only be counted in, if they are numbers of our age, or text of such."""
    if isinstance(values.dtype, pl.String):
        digits = values.drop_nulls().str.strip_chars()
        values = (
            digits.cast(pl.Int64, strict=False)
            if digits.str.contains(r"^\d{9,19}$").all()
            else pl.Series([], dtype=pl.Int64)
        )
    if not values.dtype.is_integer() and not values.dtype.is_float():
        return None
    known = values.filter(values.is_finite())
    if known.is_empty():
        return None
    return other_unit(int(known.min()), int(known.max()))  # type: ignore[arg-type]  # there are values


def _are_times(values: pl.Series) -> bool:
    """Whether it is text and all of it can be read as times."""
    if not isinstance(values.dtype, pl.String):
        return False
    text = values.drop_nulls()
    return len(text) > 0 and parse_instants(text).null_count() == 0
