"""All that runs in a session at one moment: queries with their shares of memory and processor time, sources with rates and lag.

After the global view of `stream-overview` §4.2. Not for one query, which its own status and plan tell.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import polars as pl

from jupyter_stream.core.time import MAX_TIME, MIN_TIME, show, show_span
from jupyter_stream.engine.feed import Feed
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.session.query import Listing, Query


def queries(found: Iterable[Query]) -> Listing:
    """Every query: its state, rows, bytes of state, processor time, and its shares of what all of them have."""
    rows = [(q.name, q.status, q.snapshot(0), _seconds(q)) for q in found]
    bytes_held = sum(s.state_bytes for _, _, s, _ in rows)
    spent = sum(seconds for *_, seconds in rows)
    frame = pl.DataFrame(
        [
            (
                name, state, s.rows_in, s.rows_out, s.late, s.bad, s.state_bytes, _share(s.state_bytes, bytes_held),
                round(seconds, 3), _share(seconds, spent),
            )
            for name, state, s, seconds in rows
        ],
        schema={
            "query": pl.String(), "state": pl.String(), "rows_in": pl.Int64(), "rows_out": pl.Int64(), "late": pl.Int64(),
            "bad": pl.Int64(), "state_bytes": pl.Int64(), "memory": pl.String(), "seconds": pl.Float64(),
            "processor": pl.String(),
        },
        orient="row",
    )  # fmt: skip
    return Listing("Queries", frame)


def sources(feeds: Iterable[Feed], scheduler: str) -> Listing:
    """Every source being read: who reads it, rows, rows per second since its start, what waits, and how far behind it is."""
    rows = []
    for feed in feeds:
        newest, promised = feed.ingest.frontier.newest, feed.low_watermark
        count = feed.control.rows_in
        known = newest != MIN_TIME and promised not in (MIN_TIME, MAX_TIME)
        rows.append(
            (
                feed.stream.name,
                ", ".join(r.name for r in list(feed.readers)),
                count,
                round(count / max(1e-3, time.time() - feed.started), 1),
                int(feed.queue.extra.get("queued_rows", 0)),
                None if newest == MIN_TIME else show(newest),
                show_span(max(0, newest - promised)) if known else None,
                _age(feed, newest),
                f"{feed.stamper.mode}: {feed.stamper.made} made" if feed.clocked else None,
            )
        )
    schema = {"source": pl.String(), "read_by": pl.String(), "rows": pl.Int64(), "rows_per_second": pl.Float64(),
              "waiting": pl.Int64(), "newest": pl.String(), "watermark_lag": pl.String(),
              "behind_the_clock": pl.String(), "enabling_time_stamps": pl.String()}  # fmt: skip
    return Listing(f"Sources (scheduler: {scheduler})", pl.DataFrame(rows, schema=schema, orient="row"))


def _seconds(query: Query) -> float:
    """Processor time of a query's operators; of those it shares, only if it is the first of those that do, as their bytes."""
    pipeline = query._pipeline
    if not isinstance(pipeline, Pipeline):
        return 0.0
    own = (s for s in pipeline.graph.steps if s.part is None or s.part.names[0] == query.name)
    return sum(s.control.nanoseconds for s in own) / 1e9


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else ""


def _age(feed: Feed, newest: int) -> str | None:
    """How old the newest row of a live source is."""
    if newest == MIN_TIME or feed.stream.source.replayable:
        return None
    return show_span(max(0, time.time_ns() // 1_000_000 * 1000 - newest))
