"""Why a query over live rows gives no answer though rows come: the time of a stream makes no progress, and how to mend that."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from jupyter_stream.core.counting import counted
from jupyter_stream.core.time import MIN_TIME, show
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.plan.catalog import PunctuationColumn, Slack
from jupyter_stream.plan.logical import walk
from jupyter_stream.syntax.dialect import as_written

if TYPE_CHECKING:
    from jupyter_stream.engine.feed import Feed
    from jupyter_stream.spark.run import SparkRun

PATIENCE: Final = 3.0
"""Seconds that rows of a live stream come before it is said that its time stands still: within 5 s it is on the screen."""


def no_progress(run: Pipeline | SparkRun) -> str | None:
    """A sentence or two; None while time goes on, there is an answer, or nothing waits for one."""
    feeds = [f for f in run.feeds if not (f.ended or f.paused)]
    waiting = [f for f in feeds if not f.stream.source.replayable and _has_waited(f)]
    if not waiting or not run.running or run.results.rows_out or not _goes_by_time(run):
        return None
    for feed in waiting:
        told = _standing(feed, run)
        if told is not None:
            return told
    silent = next((f for f in feeds if f.arriving_since is None and not f.clocked), None)
    if silent is None or silent.stream.source.replayable:
        return None
    name = silent.stream.name
    return (
        f"Nothing has come from {name} yet, and answers wait for it. If it may be silent for long, declare it "
        "WITH (idle_timeout = '2 seconds'): the clock then speaks for it."
    )


def _has_waited(feed: Feed) -> bool:
    return feed.arriving_since is not None and time.monotonic() - feed.arriving_since >= PATIENCE


def _goes_by_time(run: Pipeline | SparkRun) -> bool:
    """Whether some step waits for the time to pass, rather than passing rows on as they come."""
    return any(n.inputs and not getattr(n, "row_by_row", False) for n in walk(run.query.plan))


def _standing(feed: Feed, run: Pipeline | SparkRun) -> str | None:
    """Why a stream's time hasn't begun, or stands where it was with the first row."""
    stream, frontier = feed.stream, feed.ingest.frontier
    time_ = stream.time
    if time_.kind != "external":
        return None
    if frontier.newest == MIN_TIME:
        return _unusable(feed, run)
    if isinstance(time_.progress, PunctuationColumn):
        if frontier.value != MIN_TIME:
            return None
        named = as_written(time_.column or "")
        return (
            f"{stream.name}: no punctuation has come in {time_.progress.column} yet, so its time makes no progress and nothing "
            f"is final. If none will come, declare WATERMARK FOR {named} AS {named} - INTERVAL 5 SECONDS."
        )
    if frontier.value == MIN_TIME and isinstance(time_.progress, Slack):
        return (
            f"{stream.name}: with slack = '{time_.progress.rows} rows' its time begins when more rows than that have come, and "
            f"so far it is {counted(feed.ingest.rows, 'row')}."
        )
    if feed.ingest.rows > 1 and frontier.newest == feed.ingest.first and not time_.dates:
        at = show(frontier.newest) if not _integer(feed) else f"{frontier.newest}"
        return (
            f"{stream.name}: all {counted(feed.ingest.rows, 'row')} so far have the time {at}, so its time makes no progress. "
            f"If {time_.column} is not the time of the rows, name another column, or ORDER BY current_time."
        )
    return None


def _integer(feed: Feed) -> bool:
    field = feed.stream.schema.find(feed.stream.time.column or "")
    return field is not None and field.dtype.is_integer()


def _unusable(feed: Feed, run: Pipeline | SparkRun) -> str | None:
    """That no row had a time that can be used."""
    name, column = feed.stream.name, feed.stream.time.column or ""
    reasons = [f.get_column("reason")[-1] for f in list(run.error_frames)[-1:] if f.height]
    if not reasons and not feed.rejected:
        return None
    why = f", the last since {reasons[0]}" if reasons else ""
    mend = f"SELECT * FROM errors({name}) has them."
    if "TIMESTAMP" in why or f"{column} is NULL" in why or "is not written as" in why:
        mend = (
            f"If times are written in another way, declare WITH (timestamp_format = 'yyyy-MM-dd HH:mm:ss,SSS'), or compute them: "
            f"{column} AS to_timestamp(text, 'yyyy-MM-dd HH:mm:ss,SSS'). {mend}"
        )
    return f"{name}: none of its records could be used so far{why}. So its time makes no progress. {mend}"
