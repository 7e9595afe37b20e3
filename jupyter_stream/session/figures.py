"""What a session tells of itself: one look at its queries, operators, queues and synopses, as rows of `core/figures.py`.

Looks are taken by the thread of the source that asks. They read what the engine's thread writes without holding it up, so a row
is about what was there at its time.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.figures import Row, Sampler
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.engine.feed import Feed
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.graph.graph import Step
from jupyter_stream.secrets import hidden
from jupyter_stream.session.query import Query


class SessionFigures:
    """Looks at a session's queries: those that run, and each that has ended since the look before, once.

    Args:
        queries: the session's, by name.
    """

    def __init__(self, queries: Mapping[str, Query]) -> None:
        self._queries = queries

    def sampler(self, name: str) -> Sampler:
        """Takes looks at one of the four, for one reader; the first look has nothing to compare with."""
        take, looked = _LOOKS[name], time.time()
        growth = Growth()

        def look() -> list[Row]:
            nonlocal looked
            since, looked = looked, time.time()
            shown = [q for q in list(self._queries.values()) if (q._pipeline.ended or looked) > since]
            growth.turn()
            return list(take(shown, growth))

        return look


class Growth:
    """How fast counters grow, per second of the clock, from one look to the next. Remembers those of the last look only."""

    def __init__(self) -> None:
        self._before: dict[object, int] = {}
        self._now: dict[object, int] = {}
        self._at = time.monotonic()
        self._passed = 1.0

    def turn(self) -> None:
        """The next look begins."""
        now = time.monotonic()
        self._passed, self._at = max(now - self._at, 1e-6), now
        self._before, self._now = self._now, {}

    def rate(self, key: object, count: int) -> float:
        """Growth of the counter of that key. A new one, or one that started anew, counts from zero."""
        self._now[key] = count
        before = self._before.get(key, 0)
        return (count - before if count >= before else count) / self._passed


# -- the four looks -----------------------------------------------------------------------------------------------------


def _queries(found: list[Query], growth: Growth) -> Iterator[Row]:
    for query in found:
        now, pipeline = query.snapshot(0), query._pipeline
        spent = sum(step.control.nanoseconds for step in _own(query))
        known = MIN_TIME < now.low_watermark < MAX_TIME and now.max_event_time > MIN_TIME
        yield (
            query.name, query.engine, now.state, now.rows_in, now.rows_out, now.late, now.bad,
            growth.rate(("rows", query.name), now.rows_in), _percent(growth.rate(("time", query.name), spent)),
            now.state_bytes, int(pipeline.results.bytes), _time(now.low_watermark),
            max(0, now.max_event_time - now.low_watermark) / 1e6 if known else None, now.error,
        )  # fmt: skip


def _operators(found: list[Query], growth: Growth) -> Iterator[Row]:
    for feed in _feeds(found):
        yield _operator(_first(feed), 0, feed.control, _time(feed.low_watermark), growth)
    for query in found:
        for place, step in enumerate(_own(query), 1):
            yield _operator(query.name, place, step.control, _time(step.said), growth)
        if not isinstance(query._pipeline, Pipeline):  # Spark tells what it has done of a query as a whole
            for place, control in enumerate(query._pipeline.controls, 1):
                yield _operator(query.name, place, control, _time(control.low_watermark), growth)


def _operator(query: str | None, place: int, control: ControlTable, reached: int | None, growth: Growth) -> Row:
    key = (query, place, control.name)
    return (
        query, place, hidden(control.name), control.extra.get("shared_by"), control.rows_in,
        control.rows_out if place else control.rows_in,  # a source hands on all it takes
        control.batches_in, growth.rate(("rows", key), control.rows_in),
        _percent(growth.rate(("time", key), control.nanoseconds)), int(control.bytes), int(control.peak_bytes), reached,
        control.late_rows, control.failed_rows, _attributes(control),
    )  # fmt: skip


def _queues(found: list[Query], growth: Growth) -> Iterator[Row]:
    tables = [(_first(feed), feed.queue, feed.control.extra.get("shared_by")) for feed in _feeds(found)]
    seen: set[int] = set()
    for query in found:
        between = query._pipeline.queues if isinstance(query._pipeline, Pipeline) else []
        tables += [(query.name, table, None) for table in between if id(table) not in seen]
        seen |= {id(table) for table in between}
    for name, table, shared in tables:
        yield (
            name, hidden(table.name), shared, int(table.extra.get("queued_rows", 0)), table.rows_in,
            growth.rate((name, table.name, id(table)), table.rows_in), int(table.bytes), int(table.peak_bytes),
            _attributes(table),
        )  # fmt: skip


def _synopses(found: list[Query], _growth: Growth) -> Iterator[Row]:
    for query in found:
        own = [(step.control.name, table) for step in _own(query) for table in step.operator.synopses]
        known = {id(table) for step in _steps(query) for table in step.operator.synopses}
        rest = [("", table) for table in query._pipeline.synopses if id(table) not in known]
        for operator, table in [*own, *rest]:
            yield (
                query.name, hidden(operator) or None, hidden(table.name), table.rows_in, table.rows_out, int(table.bytes),
                int(table.peak_bytes), _attributes(table),
            )  # fmt: skip


_LOOKS: Final[dict[str, Callable[[list[Query], Growth], Iterator[Row]]]] = {
    "queries": _queries,
    "operators": _operators,
    "queues": _queues,
    "synopses": _synopses,
}


# -- what they look at --------------------------------------------------------------------------------------------------


def _steps(query: Query) -> list[Step]:
    return list(query._pipeline.graph.steps) if isinstance(query._pipeline, Pipeline) else []


def _own(query: Query) -> list[Step]:
    """A query's operators; of those it shares, only if it is the first of those that do."""
    return [s for s in _steps(query) if s.part is None or s.part.names[0] == query.name]


def _feeds(found: list[Query]) -> list[Feed]:
    """The sources these queries read, each once."""
    return list(
        dict.fromkeys(feed for query in found for feed in list(query._pipeline.feeds) if isinstance(feed, Feed))
    )


def _first(feed: Feed) -> str | None:
    """The first of a source's readers."""
    return next((r.name for r in list(feed.readers)), None)


def _percent(nanoseconds_per_second: float) -> float:
    return nanoseconds_per_second / 1e7


def _time(at: int) -> int | None:
    return at if MIN_TIME < at < MAX_TIME else None


def _attributes(control: ControlTable) -> str:
    """What only this kind has, and what may be changed, as JSON."""
    return json.dumps({n: _plain(v) for n, v in {**control.extra, **control.settings}.items()}, default=str)


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
