"""Queries with a budget, driven by hand: the streams they read, their operators without an engine."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

import jupyter_stream
from jupyter_stream import binding, syntax
from jupyter_stream.budget.spending import Budgeted, Spending
from jupyter_stream.core.messages import TS, Batch, Message, Punctuation
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.engine.circuit import Circuit
from jupyter_stream.graph.graph import build
from jupyter_stream.plan.logical import BoundQuery, streams
from jupyter_stream.plan.preference import Budget

DECLARED = """
CREATE STREAM Store1 (ItemNo BIGINT, Price DOUBLE, ts BIGINT) ORDER BY ts SOURCE 'frame://one';
CREATE STREAM Store2 (ItemNo BIGINT, Price DOUBLE, ts BIGINT) ORDER BY ts SOURCE 'frame://two';
CREATE SUMMARY items1 ON Store1 (ItemNo) WITH GRANULARITY 64 MICROSECONDS AND COLLAPSE (2, 3);
CREATE SUMMARY items2 ON Store2 (ItemNo) WITH GRANULARITY 64 MICROSECONDS AND COLLAPSE (2, 3);
"""
JOIN = """SELECT S1.ItemNo, S1.ts AS t1, S2.ts AS t2 FROM Store1 S1, Store2 S2 WHERE S1.ItemNo = S2.ItemNo
WITH PREFERENCE {} SUMMARY.Estimate.Count(S1.ItemNo), SUMMARY.Estimate.Count(S2.ItemNo)
FADE FACTOR 0.8 WINDOW 60 MICROSECONDS"""
SELECTION = "SELECT ItemNo, ts FROM Store1 WHERE ItemNo > 2 AND Price > 0.3"
QUERIES = {
    **{f"join {order}": JOIN.format(order) for order in ("DESC", "ASC", "WEIGHTED")},
    "join, uniform": JOIN[: JOIN.index("WITH")]
    .replace("Store1 S1", "Store1 [RANGE 60 MICROSECONDS] S1")
    .replace("Store2 S2", "Store2 [RANGE 60 MICROSECONDS] S2"),
    **{
        f"selection {order}": f"{SELECTION} WITH PREFERENCE {order} SUMMARY.Estimate.Count(ItemNo) * ItemNo"
        for order in ("DESC", "ASC", "WEIGHTED")
    },
    "selection, uniform": SELECTION,
}
LATER = 10_000_000
"""After all rows, and the slots they are in."""


def rows(seed: int, many: int, span: int) -> pl.DataFrame:
    """A store's sales: some items go often, most seldom."""
    chance = np.random.default_rng(seed)
    items = np.minimum(chance.zipf(1.5, many) - 1, 40)
    times = np.sort(chance.integers(0, span, many))
    return pl.DataFrame({"ItemNo": items, "Price": chance.random(many), "ts": times})


def bound(session: jupyter_stream.Session, text: str, probes: float | None) -> BoundQuery:
    (statement,) = syntax.parse(text)
    assert isinstance(statement, syntax.Select)
    query = binding.bind_query(statement, session.catalog)
    return query if probes is None else replace(query, budget=Budget("probes", probes))


class Run:
    """A query's operators, given batches by hand."""

    def __init__(self, query: BoundQuery) -> None:
        self.graph = build(query)
        self.given: list[tuple[Any, ...]] = []
        self.estimates: list[pl.DataFrame] = []
        self.circuit = Circuit(self._take, lambda aside: None)
        self.columns = query.plan.schema.names
        self.spending = None
        for step in self.graph.steps:
            if query.budget is not None and isinstance(step.operator, Budgeted):
                self.spending = Spending(step, step.operator, query.budget, query.weight)
        self.streams = streams(query.plan)
        self.circuit.feed = object()  # type: ignore[assignment]  # whose message is under way; nobody asks here

    def _take(self, message: Message) -> None:
        if isinstance(message, Batch) and message.provisional is not None:
            self.estimates.append(message.frame)
        elif isinstance(message, Batch):
            self.given += message.frame.select(self.columns).rows()

    def tell(self, stream: int, message: Message) -> None:
        for entry in self.graph.entries:
            if entry.stream is self.streams[stream]:
                self.circuit.deliver(entry.target, message)

    def end(self) -> None:
        for stream in range(len(self.streams)):
            self.tell(stream, Punctuation(MAX_TIME))
        while self.circuit.resting:
            self.circuit.go_on()


def run(
    query: BoundQuery, arrivals: list[pl.DataFrame], cuts: list[tuple[int, int]]
) -> tuple[Counter[Any], Counter[Any]]:
    """Answers given when all rows have come and nothing else, and answers in the end.

    Args:
        query: what to run.
        arrivals: rows of each stream in the order they come.
        cuts: (stream, rows) that come next; what they leave comes at last, stream by stream.
    """
    running = Run(query)
    at = [0] * len(arrivals)
    for stream, many in [*cuts, *((stream, len(frame)) for stream, frame in enumerate(arrivals))]:
        if stream >= len(arrivals):
            continue
        frame = arrivals[stream][at[stream] : at[stream] + many]
        at[stream] += many
        if frame.height:
            running.tell(stream, Batch(frame.with_columns(pl.col("ts").alias(TS))))
        rest = arrivals[stream]["ts"][at[stream] :]
        running.tell(stream, Punctuation(int(rest.to_numpy().min()) if len(rest) else LATER))
    before = Counter(running.given)
    running.end()
    return before, Counter(running.given)


def shuffled(frame: pl.DataFrame, seed: int, by: int) -> pl.DataFrame:
    """Rows that come at most so many microseconds of their own time late."""
    late = np.random.default_rng(seed).integers(0, by, frame.height)
    return frame[pl.Series(np.argsort(frame["ts"].to_numpy() + late, kind="stable"))]
