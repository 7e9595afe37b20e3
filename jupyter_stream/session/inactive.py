"""Queries that hold nothing for a while (`stream-manager` §2.4): which can come back, and from when their answers are exact."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from jupyter_stream.core.time import show, show_span
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.plan.logical import streams
from jupyter_stream.plan.refill import refill
from jupyter_stream.plan.time_of import integer_time

if TYPE_CHECKING:
    from jupyter_stream.session.query import Query, Running


def restable(query: Query) -> Pipeline:
    """What runs a query that can be deactivated.

    Raises:
        QueryError: it can't, and how it can be kept waiting otherwise.
        UnsupportedError: it would never be exact again.
    """
    pipeline = _in_kernel(query)
    replay = next((s.name for s in streams(pipeline.query.plan) if s.source.replayable), None)
    if replay is not None:
        raise QueryError(
            f"{query.name} reads {replay}, a replay, which waits as long as the query does",
            hint=f"Write %stream pause {query.name}. Only queries over live streams can be inactive.",
        )
    if pipeline.cuts is not None:
        raise QueryError(
            f"{query.name} has a checkpoint, from which it goes on",
            hint=f"Write %stream stop {query.name}, and run its cell again when it is needed.",
        )
    never = refill(pipeline.query).never
    if never is not None:
        raise UnsupportedError(
            f"the answers of {query.name} would never be exact again: {never}",
            hint=f"Give it a window with an end, such as [RANGE 1 HOUR], or write %stream pause {query.name}.",
        )
    return pipeline


def resting(query: Query) -> Pipeline:
    """What runs an inactive query. Raises `QueryError` for one that isn't."""
    pipeline = _in_kernel(query)
    if not pipeline.inactive:
        raise QueryError(f"{query.name} is active: it is {query.status}")
    return pipeline


def _in_kernel(query: Query) -> Pipeline:
    pipeline = query._pipeline
    if not isinstance(pipeline, Pipeline):
        raise QueryError(f"{query.name} runs on Spark, which keeps its state on disk", hint="Write %stream pause.")
    if pipeline.ended is not None:
        raise QueryError(f"{query.name} has ended: it is {query.status}", hint="Run its cell again.")
    return pipeline


def exact_from(run: Running) -> datetime | int | None:
    """The time from which answers are exact since the query was activated; None before the first row, or where nothing tells."""
    found = run.exact_from if isinstance(run, Pipeline) and run.anew else None
    if found is None or (isinstance(run, Pipeline) and integer_time(run.query.plan)):
        return found
    return datetime.fromtimestamp(found / 1e6, UTC).replace(tzinfo=None)


def promise(query: Query) -> str:
    """In words, what has to have come for its answers to be exact."""
    pipeline = query._pipeline
    assert isinstance(pipeline, Pipeline)
    needed = refill(pipeline.query)
    if needed.also:
        return f"exact once {' and '.join(needed.also)}"
    return (
        f"exact from {show_span(needed.micros)} behind its first row on"
        if needed.micros
        else "exact from its first row on"
    )


def note(pipeline: Pipeline) -> dict[str, str]:
    """What the strip of a view says: from when on answers are exact, since the query was activated."""
    if not pipeline.anew or pipeline.inactive:
        return {}
    at = pipeline.exact_from
    if at is not None:
        return {"exact from": str(at) if integer_time(pipeline.query.plan) else show(at)}
    needed = refill(pipeline.query)
    return {"exact": f"once {' and '.join(needed.also)}"} if needed.also else {}
