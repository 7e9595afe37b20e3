"""A query over history: the same plan, with files in the place of its stream, and nothing late, since all is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import QueryError
from jupyter_stream.plan.catalog import OpenSource, StreamDef, Unpromised
from jupyter_stream.plan.logical import Aggregate, Plan, Query, Scan, streams, walk
from jupyter_stream.plan.needs import needed_columns, reads_row_numbers
from jupyter_stream.sources.paths import matching
from jupyter_stream.spark.preflight import runs_inside

Open = Callable[[str, Schema | None, Mapping[str, str]], OpenSource]
_OWN = ("follow", "rate", "idle_timeout", "slack", "punctuation", "punctuation_key")
"""Options about how a stream comes, which history doesn't have."""
_ORDERED = frozenset({"first", "last", "arg_min", "arg_max", "collect_list", "string_agg"})
"""Aggregates that go by the order of arrival where times are equal."""


def over(query: Query, uri: str, open_: Open) -> Query:
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
            f"the query reads {len(read)} streams, and history is given for one",
            hint="Declare a stream over the files, and run the query on that.",
        )
    (stream,) = read
    if stream.time.kind != "external":
        raise QueryError(
            f"the time of {stream.name} is that of arrival, which files don't have",
            hint="Declare the stream with ORDER BY a column.",
        )
    options = {k: v for k, v in stream.options.items() if k not in _OWN}
    source = open_(uri, stream.schema, options)
    time = replace(stream.time, progress=Unpromised(), idle_timeout=None)
    past = StreamDef(stream.name, stream.schema, time, uri, source, options, stream.text)
    return replace(query, plan=reading(query.plan, {past.name: past}))


def native(uri: str, query: Query) -> str | None:
    """The path of files that Spark can read as our connector would: Parquet, of the declared types, whose order is no matter."""
    (stream,) = streams(query.plan)
    if not uri.startswith("file://") or reads_row_numbers(query.plan) or stream.options or runs_inside(query):
        return None
    for node in walk(query.plan):
        if isinstance(node, Aggregate) and any(c.function in _ORDERED for c in node.aggregates):
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
    parts: Any = {}
    for name in ("input", "left", "right"):
        if hasattr(plan, name):
            parts[name] = reading(getattr(plan, name), instead)
    if hasattr(plan, "parts"):
        parts["parts"] = tuple(reading(p, instead) for p in plan.parts)
    return replace(plan, **parts)
