"""What a view says beside its answer: a source that waits for its broker, late rows without a watermark, odd units of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_stream.core.counting import counted
from jupyter_stream.core.time import other_unit
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.plan.catalog import Tells, Watermark
from jupyter_stream.session.clock_ahead import clock_ahead
from jupyter_stream.session.declared_time import about_late_fields, unit_advice
from jupyter_stream.session.no_progress import no_progress
from jupyter_stream.session.tables_of import tables_of
from jupyter_stream.sources.file import FileSource
from jupyter_stream.syntax.dialect import as_written

if TYPE_CHECKING:
    from jupyter_stream.engine.feed import Feed
    from jupyter_stream.spark.run import SparkRun


def hint(run: Pipeline | SparkRun) -> str | None:
    """A sentence or two; None where there is nothing to tell."""
    for feed in run.feeds:
        if feed.trouble is not None:
            return f"{feed.stream.name}: {feed.trouble}"
    away = (
        next((t.trouble for t in tables_of(run) if t.trouble is not None), None) if isinstance(run, Pipeline) else None
    )
    if away is not None:
        return away
    for feed in run.feeds:
        unit = _misread(feed)
        if unit is not None:
            return unit_advice(unit, feed.stream.time.column or "")
    missed = _missed(run)
    if missed is None:
        missed = no_progress(run)
    if missed is not None:
        return missed
    return (_late(run) if run.late else None) or _found(run)


def _late(run: Pipeline | SparkRun) -> str | None:
    """Why rows may have come late, if that can be told."""
    ahead = clock_ahead(run)
    if ahead is not None:
        return ahead
    for feed in run.feeds:
        source = feed.stream.source
        order = source.order_advice if isinstance(source, FileSource) else None
        if order is not None:
            return f"{counted(run.late, 'row')} came late. {order}"
    for feed in run.feeds:
        progress = feed.stream.time.progress
        if isinstance(progress, Watermark) and not progress.declared and feed.stream.time.kind == "external":
            column = as_written(feed.stream.time.column or "")
            return (
                f"{counted(run.late, 'row')} came late: {feed.stream.name} declares no watermark, so its rows "
                f"are expected in order. Declare one: WATERMARK FOR {column} AS {column} - INTERVAL 1 MINUTE"
            )
    return None


def _found(run: Pipeline | SparkRun) -> str | None:
    """What a source has found in its rows, and how it reads them where no statement was there to say so."""
    for feed in run.feeds:
        source = feed.stream.source
        notes = source.notes if feed.stream.by_address and isinstance(source, Tells) else ()
        said = list(dict.fromkeys([*feed.remarks, *about_late_fields(feed.stream, feed.late_fields), *notes]))
        if said:
            return f"{feed.stream.name}: {' '.join(said)}"
    return None


def _missed(run: Pipeline | SparkRun) -> str | None:
    """That rows were left out while the query was held back, or soon will be, if so."""
    backlog = getattr(run, "backlog", None)
    if backlog is None or not (backlog.missed or backlog.full):
        return None
    slow = "waiting for a slow on_result or sink"
    busy = slow if getattr(run, "held_up", False) else "busy with one step"
    why = "paused" if run.paused else busy
    if backlog.missed:
        return (
            f"{backlog.missed:,} rows are missing from the answers: they came while the query was {why}, and the memory for "
            "waiting rows was full. Start the query again for answers without a gap."
        )
    return (
        f"The query is {why}, and the memory for waiting rows is full. A replay waits. A live source "
        "that other queries read, too, goes on: its rows will be missing."
    )


def _misread(feed: Feed) -> str | None:
    """The unit that a BIGINT time seems to be counted in, by its first row and its newest; None where it is microseconds."""
    time, first = feed.stream.time, feed.ingest.first
    field = feed.stream.schema.find(time.column or "")
    if time.kind != "external" or first is None or field is None or not field.dtype.is_integer():
        return None
    return other_unit(first, feed.ingest.frontier.newest)
