"""A query run by hand, a few rows at a time, so that a tutorial can look at it in between.

The parts are the engine's own: its language binds the query, its `Ingest` judges rows and makes punctuations, its operators
answer. Only the thread that otherwise drives them is missing. Not for real work: a `Session` does that.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import replace

import polars as pl

from jupyter_stream import Session, binding, syntax
from jupyter_stream.core.messages import TS, Batch, Message, Missed, Punctuation, Tick
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.engine.progress import Ingest
from jupyter_stream.graph.graph import Step, StepInput, build
from jupyter_stream.plan.preference import Budget
from jupyter_stream.plan.strategy import Strategy


class Steps:
    """One query.

    Args:
        streams: CREATE STREAM statements; their sources only give the columns and are not read.
        query: a SELECT.
        namespace: the frames those sources name.
        strategy: how windows with SLIDE are aggregated; None leaves it to the planner.
        probes: the query's budget for each row; None for none.
    """

    def __init__(
        self,
        streams: str,
        query: str,
        namespace: MutableMapping[str, object],
        strategy: Strategy | None = None,
        probes: float | None = None,
    ) -> None:
        session = Session(namespace=namespace)
        session.execute(streams)
        (statement,) = syntax.parse(query, namespace, 1)
        assert isinstance(statement, syntax.Select)
        budget = None if probes is None else Budget("probes", probes)
        bound = replace(binding.bind_query(statement, session.catalog), strategy=strategy, budget=budget)
        session.close()
        self.graph = build(bound)
        for step in self._budgeted:
            step.control.settings["probes_per_row"] = probes
        self._inputs = {}
        for entry in self.graph.entries:
            ingest = Ingest(entry.stream, numbered=True)
            ingest.boundaries.append(entry.boundary)
            self._inputs[entry.stream.name] = (ingest, entry.target)
        self._answers: list[pl.DataFrame] = []
        self._provisional: pl.DataFrame | None = None
        self.late: set[int] = set()
        """Arrival numbers of the rows that missed an answer."""

    @property
    def aggregate(self) -> Step:
        """The step that keeps the window's state."""
        return max(self.graph.steps, key=lambda s: len(s.operator.synopses))

    @property
    def left(self) -> int:
        """Probes that wait for time."""
        return sum(int(s.control.extra["probes_left"]) for s in self._budgeted)

    @property
    def _budgeted(self) -> list[Step]:
        return [s for s in self.graph.steps if "probes_per_row" in s.control.settings]

    @property
    def state_bytes(self) -> int:
        """Bytes all operators hold now, as their control tables say."""
        return sum(s.control.bytes for s in self.graph.steps)

    def watermark(self, stream: str) -> int | None:
        """The punctuation a stream has reached, microseconds; None before the first."""
        value = self._inputs[stream][0].frontier.value
        return None if value == MIN_TIME else value

    def feed(self, rows: Mapping[str, pl.DataFrame]) -> pl.DataFrame | None:
        """Rows arrive, by stream. Returns the answers that became final, None if none did."""
        self._answers = []
        for stream, frame in rows.items():
            ingest, target = self._inputs[stream]
            for message in ingest.take(frame):
                self._deliver(target, message)
        return pl.concat(self._answers) if self._answers else None

    def end(self) -> pl.DataFrame | None:
        """The inputs end. Returns the last answers."""
        self._answers = []
        for ingest, target in self._inputs.values():
            for message in ingest.end():
                self._deliver(target, message)
        return pl.concat(self._answers) if self._answers else None

    def provisional(self, at: int) -> pl.DataFrame | None:
        """What the open extents would answer now, for a query with EMIT EVERY; `at` is the stream's time."""
        self._provisional = None
        step = self.aggregate
        for message in step.operator.on_tick(Tick(at)):
            self._deliver(step.target, message)
        return self._provisional

    def _deliver(self, target: StepInput | None, message: Message) -> None:
        if isinstance(message, Missed):
            self.late.update(message.late_ids.tolist())
        elif target is None:
            if isinstance(message, Batch):
                if message.provisional is not None:
                    self._provisional = message.frame
                elif message.rows:
                    self._answers.append(message.frame.drop(TS, strict=False))
        else:
            operator = target.step.operator
            if isinstance(message, Batch):
                out = operator.on_batch(target.port, message)
            elif isinstance(message, Punctuation):
                out = operator.on_punctuation(target.port, message)
            elif isinstance(message, Tick):
                out = operator.on_tick(message)
            else:
                return
            for made in out:
                self._deliver(target.step.target, made)
