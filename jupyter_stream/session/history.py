"""A query over history: the same plan, with files in the place of its stream, and nothing late, since all is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from jupyter_stream import aggregates
from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.errors import QueryError
from jupyter_stream.functions.types import BOOLEAN, DATE, NUMERIC, STRING
from jupyter_stream.plan.catalog import OpenSource, StreamDef, Unpromised
from jupyter_stream.plan.logical import Aggregate, BoundQuery, Plan, Scan, streams, walk
from jupyter_stream.plan.needs import needed_columns, reads_row_numbers
from jupyter_stream.sources.file import FileSource
from jupyter_stream.sources.paths import matching
from jupyter_stream.spark.preflight import runs_inside

_SAME_ON_SPARK = (*NUMERIC, BOOLEAN, STRING, DATE, TIMESTAMP)
"""Types of columns that Spark reads of a file as Polars does."""
Open = Callable[[str, Schema | None, Mapping[str, str]], OpenSource]
_OWN = ("follow", "rate", "idle_timeout", "slack", "punctuation", "punctuation_key")
"""Options about how a stream comes, which history doesn't have."""


def over(query: BoundQuery, uri: str, open_: Open) -> BoundQuery:
    """The query with the files of `uri` in the place of its stream.

    Args:
        query: reads one stream, whose time is a column.
        uri: where the files are.
        open_: opens a source.

    Raises:
        QueryError: it reads several streams, or goes by the time of arrival.
        SourceError: no such files, or of other columns.
    """
    read = streams(query.plan)
    if len(read) != 1:
        raise QueryError(
            f"the query reads {len(read)} streams, and files are given for one",
            hint="Declare a stream over the files, and run the query on that.",
        )
    (stream,) = read
    if stream.time.kind != "external":
        raise QueryError(
            f"rows of {stream.name} get their time when they arrive, and rows of files don't arrive",
            hint="Declare the stream with ORDER BY a column.",
        )
    options = {k: v for k, v in stream.options.items() if k not in _OWN}
    source = open_(uri, stream.base, options)
    time = replace(stream.time, progress=Unpromised(), idle_timeout=None)
    past = StreamDef(stream.name, stream.schema, time, uri, source, options, stream.text, steps=stream.steps)
    return replace(query, plan=reading(query.plan, {past.name: past}))


def whole_files(stream: StreamDef, query: BoundQuery) -> list[tuple[Path, int]] | None:
    """The files of a stream with their numbers of rows, if Spark reads them for the query as our connector would; else None.

    They are Parquet, of the declared types; nothing in the query goes by the order in which rows came.
    """
    source = stream.source
    if not isinstance(source, FileSource) or not source.prunable or stream.steps or _goes_by_arrival(query):
        return None
    if "rate" in stream.options:  # a file would come when its last row does
        return None
    needed = needed_columns(query.plan)[stream.name]
    if any(f.dtype not in _SAME_ON_SPARK for f in stream.schema if f.name in needed):
        return None
    return [(f, int(pl.scan_parquet(f, glob=False).select(pl.len()).collect().item())) for f in source.files]


def _goes_by_arrival(query: BoundQuery) -> bool:
    return reads_row_numbers(query.plan) or any(
        isinstance(n, Aggregate) and any(aggregates.goes_by_arrival(c.function) for c in n.aggregates)
        for n in walk(query.plan)
    )


def native(uri: str, query: BoundQuery) -> str | None:
    """The path of files that Spark can read as our connector would: Parquet, of the declared types, whose order is no matter."""
    (stream,) = streams(query.plan)
    if not uri.startswith("file://") or stream.options or stream.steps or runs_inside(query) or _goes_by_arrival(query):
        return None
    text = uri.removeprefix("file://")
    files = matching(text)
    needed = needed_columns(query.plan)[stream.name]
    wanted = {f.name: f.dtype for f in stream.schema if f.name in needed}
    if not files or any(f.suffix != ".parquet" for f in files) or stream.time.column not in wanted:
        return None
    return text if all(_fits(f, wanted) for f in files) else None


def _fits(path: Path, wanted: Mapping[str, pl.DataType]) -> bool:
    there = pl.read_parquet_schema(path)
    utc = pl.Datetime("us", "UTC")
    return all(there.get(n) == t or (t == pl.Datetime("us") and there.get(n) == utc) for n, t in wanted.items())


def reading(plan: Plan, instead: Mapping[str, StreamDef]) -> Plan:
    """The plan with other streams, of the same columns, in the place of those of these names."""
    if isinstance(plan, Scan):
        stream = instead.get(plan.stream.name)
        return plan if stream is None else Scan(stream, plan.schema)
    return plan.with_inputs([reading(part, instead) for part in plan.inputs])
