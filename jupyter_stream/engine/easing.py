"""What a query can give up under load, from its operators. When it does is worked out in `approximation/easing.py`."""

from __future__ import annotations

from typing import Final

from jupyter_stream.approximation.easing import Easing
from jupyter_stream.approximation.estimates import EstimatesOperator
from jupyter_stream.approximation.shed import ShedOperator
from jupyter_stream.approximation.shedding import Shedding
from jupyter_stream.core.precision import Precision
from jupyter_stream.engine.feed import Feed
from jupyter_stream.flow.sample import SampleOperator
from jupyter_stream.graph.graph import Graph
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.plan.logical import BoundQuery
from jupyter_stream.sources.pacing import parse_rate

_PATIENCE: Final = 4.0
"""Seconds that a live row should wait at most before it is taken."""


def easing_of(name: str, graph: Graph) -> Easing | None:
    """What a query gives up; None where it may give up nothing."""
    operators = [step.operator for step in graph.steps]
    streams = [operator for operator in operators if isinstance(operator, ShedOperator)]
    answers = next((operator for operator in operators if isinstance(operator, EstimatesOperator)), None)
    return Easing(name, [Shedding(streams, answers)]) if streams else None


def fill(feed: Feed) -> float:
    """How full a source's queue is: 1 where the source is held up, or where the first row has waited longer than rows should."""
    rows = float(feed.queue.extra.get("queued_rows", 0)) / float(feed.queue.settings["most_rows"])
    return max(rows, feed.queue.bytes / feed.most_bytes, feed.waited / _PATIENCE)


def hurried(stream: StreamDef) -> bool:
    """Whether its rows come when they come: a replay as fast as it can be waits for whoever takes it."""
    return not stream.source.replayable or parse_rate(stream.options.get("rate", "max")) is not None


def precision_of(query: BoundQuery, graph: Graph, easing: Easing | None) -> Precision:
    """How exact a query's answers are."""
    operators = [step.operator for step in graph.steps]
    streams = [operator for operator in operators if isinstance(operator, SampleOperator | ShedOperator)]
    own = streams if query.target is not None or easing is not None else []
    came, looked_at = (
        (sum(counts) for counts in zip(*((o.control.rows_in, o.control.rows_out) for o in own), strict=True))
        if own
        else (0, 0)
    )
    answers = next((operator for operator in operators if isinstance(operator, EstimatesOperator)), None)
    return Precision(
        share=looked_at / came if came else 1.0,
        changed=query.changed,
        allowed="" if query.tolerance is None or query.target is not None else str(query.tolerance),
        now="" if easing is None else easing.now,
        answers=0 if answers is None else answers.answers,
        touched=0 if answers is None else answers.touched,
        moments=() if easing is None else tuple(easing.moments),
    )


__all__ = ["easing_of", "fill", "hurried", "precision_of"]
