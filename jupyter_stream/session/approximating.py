"""APPROXIMATE: what is known of a query's streams, and the query changed before it starts so that it fits (stream-manager §5.1).

A stream that runs, or has run, was measured. Of a replay that hasn't, the first rows are read. Not for how a plan is changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from jupyter_stream import syntax
from jupyter_stream.binding import bind_target
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.engine.preparation import Preparation
from jupyter_stream.errors import QueryError
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.plan.cost import estimate
from jupyter_stream.plan.footprint import Known
from jupyter_stream.plan.logical import BoundQuery, streams
from jupyter_stream.plan.patterns import labelled
from jupyter_stream.plan.rates import Rates, together
from jupyter_stream.plan.reduced import reduced
from jupyter_stream.plan.sampling import exact
from jupyter_stream.session.names import no_such
from jupyter_stream.sources.pacing import EventTime, parse_rate
from jupyter_stream.sources.protocol import Request

if TYPE_CHECKING:
    from jupyter_stream.session.session import Session

_LOOKED_AT: Final = 65_536
"""Rows of a replay that are looked at, at most."""


def approximated(session: Session, bound: BoundQuery) -> BoundQuery:
    """The query as it fits into its target; as it is where it has none.

    Raises:
        QueryError: it can't be made to fit, or nothing is known of one of its streams.
    """
    target = bound.target
    if target is None or bound.written is not None:
        return bound
    bound = replace(bound, rates=together((bound.rates, *_measured(session))))
    seen = [_Seen.of(stream, bound.rates) for stream in streams(bound.plan) if stream.table is None]
    rates = Rates(
        {**bound.rates.streams, **{s.stream.name: s.rate for s in seen if s.rate is not None}},
        bound.rates.passed,
        {**{n: v for s in seen for n, v in s.values.items()}, **bound.rates.values},
    )
    widths = {n: w for s in seen for n, w in s.widths.items()}
    known = Known(rates, widths, _pace(seen, bound) if target.kind == "cpu" else 1.0)
    look = _look(session, bound)
    return reduced(bound, target, known if look is None else replace(known, look=look))


def restated(session: Session, statement: syntax.ApproximateQuery) -> BoundQuery:
    """The query of APPROXIMATE QUERY name TO size, from the one that is there.

    Raises:
        QueryError: there is none, or it doesn't run in the kernel.
    """
    name, source = statement.name, statement.source
    query = session.queries.get(name.text)
    if query is None:
        error = no_such(name.text, session.catalog, session.queries)
        raise source.error(error.message, name.span, error.hint)
    if not isinstance(query._pipeline, Pipeline):
        raise source.error(f"{name.text} runs on Spark, and only queries in the kernel can be changed so", name.span)
    if query._pipeline.cuts is not None:
        raise source.error(
            f"{name.text} has a checkpoint, from which another query can't go on",
            name.span,
            f"Stop it, and write APPROXIMATE SELECT ... TO {source.slice(statement.target.span)}.",
        )
    before = query._pipeline.query
    return replace(exact(before), target=bind_target(statement.target), rates=query._pipeline.rates)


@dataclass(frozen=True)
class _Seen:
    """What is known of a stream.

    Attributes:
        stream: which one.
        rate: rows per second of its own time; None where it was measured, or its rows have no time of their own.
        values: how many values its columns have.
        widths: bytes of a value of those of no one size.
    """

    stream: StreamDef
    rate: float | None
    values: Mapping[str, float]
    widths: Mapping[str, float]

    @classmethod
    def of(cls, stream: StreamDef, measured: Rates) -> _Seen:
        rows = _first_rows(stream)
        if rows is None or not rows.height:
            if stream.name not in measured.streams:
                raise QueryError(
                    f"nothing is known yet of how fast {stream.name} comes",
                    hint=f"Run a query on it for a while first: SELECT count(*) FROM {stream.name} [RANGE 10 SECONDS TUMBLING].",
                )
            return cls(stream, None, {}, {})
        span = 0
        if stream.time.column is not None:
            times = rows.get_column(stream.time.column).cast(pl.Int64).drop_nulls().to_numpy()
            span = int(times.max() - times.min()) if times.size else 0
        rate = None if stream.name in measured.streams or span <= 0 else rows.height * 1e6 / span
        few = rows.height < _LOOKED_AT
        counts = {c.name: float(c.n_unique()) for c in rows.iter_columns() if not c.dtype.is_nested()}
        # as many values as rows, of the first rows only: there are more
        values = {n: v for n, v in counts.items() if few or v < rows.height / 2}
        values |= {n: float("inf") for n in counts if n not in values}
        sized = (c for c in rows.iter_columns() if not c.dtype.is_numeric() and not c.dtype.is_temporal())
        return cls(stream, rate, values, {c.name: 16 + c.estimated_size() / rows.height for c in sized})


def _first_rows(stream: StreamDef) -> pl.DataFrame | None:
    """The first rows of a replay; None of a live stream, which are read once."""
    source: Any = stream.source
    if not source.replayable:
        return None
    request = Request()
    try:
        chunks = Preparation(stream).of(source.read(request))
        frame = next((chunk.frame for chunk in chunks if chunk.frame.height), None)
    finally:
        request.stop.set()
    return None if frame is None else frame.head(_LOOKED_AT)


def _measured(session: Session) -> Iterator[Rates]:
    for query in session.queries.values():
        if isinstance(query._pipeline, Pipeline):
            yield query._pipeline.rates


def _pace(seen: list[_Seen], bound: BoundQuery) -> float | None:
    """Seconds of the streams' time in a second of the clock."""
    paces = [1.0]
    for one in seen:
        rate = parse_rate(one.stream.options["rate"]) if "rate" in one.stream.options else None
        if rate is None and one.stream.source.replayable:
            raise QueryError(
                f"{one.stream.name} is read as fast as it is taken, and has no share of the processor to keep to",
                hint="Give it a pace, WITH (rate = 'event time x60'), or write TO '100 MB'.",
            )
        if isinstance(rate, EventTime):
            paces.append(rate.factor)
        elif rate is not None:
            paces.append(rate.rows / (one.rate or bound.rates.streams.get(one.stream.name, 1.0)))
    return max(paces)


def _look(session: Session, bound: BoundQuery) -> float | None:
    """Seconds of a core that a row looked at took, in a query of the same plan; None where there is none."""
    for query in session.queries.values():
        pipeline = query._pipeline
        if not isinstance(pipeline, Pipeline) or exact(pipeline.query).plan != exact(bound).plan:
            continue
        rows, nanoseconds = (
            sum(f.control.rows_in for f in pipeline.feeds),
            sum(c.nanoseconds for c in pipeline.controls),
        )
        rates = pipeline.rates
        arriving = sum(rates.streams.values())
        if rows and nanoseconds and arriving:
            looked = estimate(labelled(bound.plan), rates).total + arriving
            return nanoseconds / 1e9 / (rows * looked / arriving)
    return None


__all__ = ["approximated", "restated"]
