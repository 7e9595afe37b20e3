"""Which column is a stream's event time, where CREATE STREAM leaves that open. Not for how the stream progresses: `create`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from jupyter_stream.binding.scope import Scope
from jupyter_stream.core.instants import parse_instants
from jupyter_stream.core.schema import TIMESTAMP, Schema, type_name
from jupyter_stream.core.time_texts import look_like_clocks, look_like_times, pattern_of
from jupyter_stream.errors import QueryError
from jupyter_stream.plan.catalog import Peeked, StreamDef
from jupyter_stream.plan.logical import Plan, streams
from jupyter_stream.secrets import secret
from jupyter_stream.syntax.dialect import as_written
from jupyter_stream.syntax.source_text import Name, SourceText, Span
from jupyter_stream.syntax.syntax import CreateStream, OrderedClause, WithOption

UNIT = "timestamp_unit"
"""The option that says what numbers count."""
TIMES_ALIKE = f"Declare the stream with BIGINT times WITH ({UNIT} = 'us'): its times are then TIMESTAMP."
"""What to write where a BIGINT time meets a TIMESTAMP."""
_WEEKDAY: Final = r"^[A-Za-z]+,? +"


def is_time(dtype: pl.DataType) -> bool:
    """Whether a column of this type can be a stream's time."""
    return isinstance(dtype, pl.Datetime | pl.Int64 | pl.Int32)


def could_be_the_time(schema: Schema, punctuation: str | None = None) -> tuple[str, ...]:
    """The TIMESTAMP columns, but for the one that holds punctuations."""
    other = (punctuation or "").strip().lower()
    return tuple(f.name for f in schema if isinstance(f.dtype, pl.Datetime) and f.name.lower() != other)


def asks_for_latent(option: WithOption | None, said: Sequence[Span], source: SourceText) -> bool:
    """Whether `WITH (time = 'latent')` is written: rows are stamped when they arrive, whatever columns there are.

    Args:
        option: the option `time`, if it is given.
        said: where else something is said of the time.
        source: the cell, for errors.

    Raises:
        QueryError: another value, or something else that names the time.
    """
    if option is None:
        return False
    if option.value.strip().lower() != "latent":
        raise source.error(
            f"time can't be '{option.value}'", option.value_span, "Write time = 'latent', or name the column: ORDER BY ts."
        )  # fmt: skip
    if said:
        raise source.error(
            "the time of the rows is declared twice", said[0], "Leave this out, or time = 'latent'."
        )  # fmt: skip
    return True


def _named(statement: CreateStream) -> Name | None:
    """The column that CREATE STREAM calls the time."""
    ordered = next((c for c in statement.constraints if isinstance(c, OrderedClause)), None)
    for found in (statement.order_by, statement.watermark, ordered):
        if found is not None:
            return found if isinstance(found, Name) else found.column
    return None


def numbers_as_times(statement: CreateStream, schema: Schema) -> Schema | None:
    """The columns where `timestamp_unit` makes a TIMESTAMP of a time column that holds numbers; None where it doesn't.

    Raises:
        QueryError: `timestamp_unit` is given, and nothing says of which column.
    """
    unit = next((o for o in statement.options if o.name.text == UNIT), None)
    if unit is None:
        return None
    name = _named(statement)
    field = schema.find(name.text) if name is not None else None
    if field is not None and field.dtype.is_numeric():
        return Schema(tuple(replace(f, dtype=TIMESTAMP) if f is field else f for f in schema))
    if field is None and name is None and not could_be_the_time(schema):
        numbers = [f.name for f in schema if f.dtype.is_numeric()]
        raise statement.source.error(
            f"{UNIT} gives the unit of a time column, and no time column is named",
            unit.name.span,
            f"Name the time column: ORDER BY {as_written((*numbers, 'ts')[0])}.",
        )
    return None


def dates_as_times(statement: CreateStream, schema: Schema) -> Schema | None:
    """The columns where a DATE is the event time, as TIMESTAMPs of midnight; None where it isn't one.

    It is where it is named, and where nothing is said of the time, there is no TIMESTAMP, and it is the only DATE.
    """
    name = _named(statement)
    if name is not None:
        field = schema.find(name.text)
    elif could_be_the_time(schema) or any(o.name.text == "time" for o in statement.options):
        return None
    else:
        dates = [f for f in schema if isinstance(f.dtype, pl.Date)]
        field = dates[0] if len(dates) == 1 else None
    if field is None or not isinstance(field.dtype, pl.Date):
        return None
    return Schema(tuple(replace(f, dtype=TIMESTAMP) if f is field else f for f in schema))


def with_a_time(
    name: str, schema: Schema, time: str | None, uri: str, options: Mapping[str, str], reading: str | None = None
) -> str:
    """The statement that declares a stream with all its columns, one of them as its time if one is.

    Args:
        name: of the stream.
        schema: its columns.
        time: the column that becomes a TIMESTAMP.
        uri: SOURCE.
        options: of WITH.
        reading: the expression that computes it, where it is one more.
    """
    words = ", ".join(f"{n} = {_text('...' if secret(n) else value)}" for n, value in options.items())
    order = "" if time is None else f" ORDER BY {as_written(time)}"
    reads = f" WITH ({words})" if words else ""
    columns = with_columns(name, schema, time)
    if time is not None and reading is not None:
        columns = f"{columns[:-1]}, {as_written(time)} AS {reading})"
    return f"{columns}{order} SOURCE {_text(uri)}{reads}"


def with_columns(name: str, schema: Schema, time: str | None) -> str:
    """The beginning of that statement."""
    columns = ", ".join(f"{as_written(f.name)} {'TIMESTAMP' if f.name == time else type_name(f.dtype)}" for f in schema)
    return f"CREATE STREAM {as_written(name)} ({columns})"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def need_a_time(scope: Scope, place: Span, source: SourceText) -> None:
    """Ask which column is the time, where several could be and something is written that goes by it.

    Raises:
        QueryError: at `place`.
    """
    if scope.time.undecided is not None:
        name, columns = scope.time.undecided
        stream = next((s for s in streams(scope.plan) if s.name == name), None)
        raise _which(name, columns, place, source, stream)


def streams_need_a_time(plan: Plan, place: Span, source: SourceText) -> None:
    """The same for all streams of a plan.

    Raises:
        QueryError: at `place`.
    """
    for stream in streams(plan):
        if stream.time.undecided:
            raise _which(stream.name, stream.time.undecided, place, source, stream)


def texts_like_times(source: object) -> tuple[str, ...]:
    """The columns of text that look like times in the first rows of a source, where those can be looked at."""
    if not isinstance(source, Peeked):
        return ()
    try:
        return tuple(c.name for c in source.peek().get_columns() if look_like_times(c))
    except QueryError:
        return ()  # the query that reads it says so


def with_time_texts(stream: StreamDef, column: str) -> str:
    """The statement that declares a column of text as the time."""
    source = stream.source
    values = source.peek().get_column(column) if isinstance(source, Peeked) else pl.Series([], dtype=pl.String)
    plain = parse_instants(values).null_count() == values.null_count()
    found = None if plain else pattern_of(values)
    reading = None if plain or found is not None else _without_weekday(column, values)
    if reading is not None:
        return _with_computed_time(stream, stream.schema, f"{column}_time", reading)
    pattern = {} if plain else {"timestamp_format": found or "..."}
    return with_a_time(stream.name, stream.schema, column, stream.uri, {**stream.options, **pattern})


def clock_column(stream: StreamDef) -> str | None:
    """The one column of text that holds times of day in the first rows of a source; None where there is none, or several."""
    if not isinstance(stream.source, Peeked):
        return None
    try:
        found = [c.name for c in stream.source.peek().get_columns() if look_like_clocks(c)]
    except QueryError:
        return None  # the query that reads it says so
    return found[0] if len(found) == 1 else None


def with_day_and_clock(stream: StreamDef, clock: str) -> str:
    """The statement that declares a day and a column of text with times of day, together, as the time."""
    day = stream.time.column or ""
    schema = Schema(tuple(replace(f, dtype=pl.String()) if f.name == day else f for f in stream.schema))
    reading = f"to_timestamp(concat({as_written(day)}, ' ', {as_written(clock)}))"
    return _with_computed_time(stream, schema, f"{day}_{clock}", reading)


def _with_computed_time(stream: StreamDef, schema: Schema, name: str, reading: str) -> str:
    return with_a_time(stream.name, schema, schema.free(name), stream.uri, stream.options, reading)


def _without_weekday(column: str, values: pl.Series) -> str | None:
    """An expression that reads texts which begin with the day of the week: no pattern has a letter for it.

    None where they don't, or where it can't be told how the rest is written.
    """
    rest = values.drop_nulls().str.strip_chars().str.replace(_WEEKDAY, "")
    once = rest.str.replace_all(" +", " ")
    pattern = pattern_of(once) if (rest != values.drop_nulls()).any() else None
    if pattern is None:
        return None
    text = f"regexp_replace({as_written(column)}, {_text(_WEEKDAY)}, '')"
    if (once != rest).any():
        text = f"regexp_replace({text}, ' +', ' ')"
    return f"to_timestamp({text}, {_text(pattern)})"


def _which(stream: str, columns: Sequence[str], place: Span, source: SourceText, of: StreamDef | None) -> QueryError:
    field = None if of is None else of.schema.find(columns[0])
    if of is not None and field is not None and isinstance(field.dtype, pl.String):
        return source.error(
            f"this query needs the time column of {stream}, and {columns[0]} looks like it, but is text", place,
            f"Write {with_time_texts(of, columns[0])}. "
            f"For the time of arrival: CREATE STREAM {as_written(stream)} ORDER BY current_time SOURCE {_text(of.uri)}.",
        )  # fmt: skip
    names = f"{', '.join(columns[:-1])} or {columns[-1]}"
    return source.error(
        f"this query needs the time column of {stream}, and several could be it: {names}",
        place,
        f"Name it where the stream is declared: CREATE STREAM {as_written(stream)} ... ORDER BY {as_written(columns[0])}. "
        "For the time of arrival: ORDER BY current_time.",
    )
