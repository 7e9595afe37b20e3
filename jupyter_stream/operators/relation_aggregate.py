"""Aggregates without SLIDE: a relation, given as its net changes at each instant once no row before it can come.

Rows wait until the punctuation has passed them, so that their order means nothing. Time logic is here; `state.relation` holds
the values. Its input may be a relation itself, whose changes take rows back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import polars as pl

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import (
    BROKEN,
    LATE_ID,
    SIGN,
    TS,
    UNTIL,
    Batch,
    Failed,
    Message,
    Missed,
    Punctuation,
    Tick,
    ints,
)
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.functions.expression import Column, Expr
from jupyter_stream.operators.evaluate import Evaluator
from jupyter_stream.operators.protocol import Recall
from jupyter_stream.plan.logical import Derived, Filter, Lookup, Over, Plan, Project, Scan, Union
from jupyter_stream.state.group_aggregate import GroupAggregate
from jupyter_stream.state.relation import Beyond, RelationGroups
from jupyter_stream.state.relation_ends import EndingGroups, SignedGroups
from jupyter_stream.windows import LifetimeWindow

Feed: TypeAlias = Literal["rows", "until", "changes"]


@dataclass(frozen=True)
class RelationAggregateConfig:
    """What a relation of aggregates computes.

    Attributes:
        window: how long rows live.
        keys: (output name, expression, type) of the grouping columns.
        inputs: expressions of arguments and FILTER conditions.
        aggregates: over those inputs, by index.
        progressing: columns of the input that are its progressing attribute itself (see `progressing`). A group with one as
            its key can't change once the punctuation has passed it, so it is forgotten.
        feed: what comes: `rows` that live for the window's range, rows with an end of their own in `$until`, or the `changes`
            of a relation, whose `$sign` says whether a row enters or leaves.
        name: for EXPLAIN.
        begun: whether an ungrouped one has its row though no input row has come: tables hold what they hold from the start on.
    """

    window: LifetimeWindow
    keys: tuple[tuple[str, Expr, pl.DataType], ...]
    inputs: tuple[Expr, ...]
    aggregates: tuple[GroupAggregate, ...]
    progressing: frozenset[str] = frozenset()
    feed: Feed = "rows"
    name: str = "relation aggregate"
    begun: bool = False


class RelationAggregate:
    """Rows entering and leaving the answer: the keys, the aggregates, `$ts` (the instant) and `$sign`.

    Changes are net per instant and group, by instant, leaving rows before entering ones.
    """

    def __init__(self, config: RelationAggregateConfig) -> None:
        self.control = ControlTable(f"{config.name} {config.window}" if config.feed == "rows" else config.name)
        self.synopses: list[ControlTable] = []
        self._config = config
        self._evaluator = Evaluator([e for _, e, _ in config.keys] + list(config.inputs))
        self._groups = _groups(config)
        self._reached = MIN_TIME
        self._seen = False

    def saw(self, first: int, last: int) -> None:
        """Rows of the input had these earliest and latest times, whether or not they came this far.

        An ungrouped relation has its row from the first input row on, before WHERE. Late rows don't count. Rows that reach the
        operator need not be told.
        """
        self._seen = True
        self._groups.born(first)

    def head(self, most: int) -> pl.DataFrame:
        """Some groups, and how many rows each has."""
        return self._groups.head(most)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep rows until their time has come; late ones are told."""
        frame = batch.frame
        late = frame.get_column(TS) < self._reached
        if BROKEN in frame.columns:
            late |= (frame.get_column(TS) < frame.get_column(BROKEN)).fill_null(False)
        if late.any():
            missed = frame.filter(late)
            self.control.late_rows += missed.height
            if LATE_ID in missed.columns:
                yield Missed(ints(missed.get_column(LATE_ID).drop_nulls()), None)
            frame = frame.filter(~late)
        if not frame.height:
            return
        ts = ints(frame.get_column(TS))
        self.saw(int(ts.min()), int(ts.max()))
        frame, columns, failed = self._evaluator.evaluate(frame)
        if failed is not None:
            yield failed
        if frame.height:
            self._take(frame, columns)
        self._report()

    def _take(self, frame: pl.DataFrame, columns: list[pl.Series]) -> None:
        keys, ts = len(self._config.keys), ints(frame.get_column(TS))
        if self._config.feed == "until":
            columns = [*columns, frame.get_column(UNTIL)]
        if not isinstance(self._groups, SignedGroups):
            self._groups.add(ts, columns[:keys], columns[keys:])
            return
        enters = frame.get_column(SIGN) > 0
        for take, mine in ((self._groups.add, enters), (self._groups.remove, ~enters)):
            if mine.any():
                some = [c.filter(mine) for c in columns]
                take(ts[mine.to_numpy()], some[:keys], some[keys:])

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give the changes at instants that it makes final, and say so."""
        if punctuation.value <= self._reached:
            return
        if self._config.begun and not self._seen and punctuation.value == MAX_TIME:
            at = max(self._reached, 0)
            self.saw(at, at)
        yield from self._release(punctuation.value)
        self._reached = self.control.low_watermark = punctuation.value
        self._report()
        yield punctuation

    def _release(self, until: int) -> Iterator[Message]:
        for changes in self._groups.release(until):
            for beyond in changes.beyond:
                yield self._overflowed(beyond)
            if changes.frame is not None:
                yield Batch(changes.frame)

    def _overflowed(self, beyond: Beyond) -> Failed:
        keys = [c.alias(n) for c, (n, _, _) in zip(beyond.keys, self._config.keys, strict=True)]
        frame = pl.DataFrame([*keys, pl.Series(TS, beyond.at)])
        return Failed(frame, pl.Series(["a sum is beyond BIGINT"] * frame.height))

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Pass it on: a relation has no provisional answers."""
        yield tick

    def recalls(self) -> Recall | None:
        """The rows that wait or live; all there were, where they live for ever, and until the first has come."""
        oldest = self._groups.oldest
        return None if oldest is None else Recall(oldest)

    def _report(self) -> None:
        self.control.holds(self._groups.bytes)
        self.control.extra["live_groups"] = self._groups.live
        self.control.extra["waiting_rows"] = self._groups.waiting
        self.control.extra["live_rows"] = self._groups.alive

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        self._groups.check()


def _groups(config: RelationAggregateConfig) -> RelationGroups:
    keys, inputs = [(n, t) for n, _, t in config.keys], [e.dtype for e in config.inputs]
    if config.feed == "changes":
        return SignedGroups(keys, inputs, config.aggregates)
    if config.feed == "until":
        return EndingGroups(keys, [*inputs, pl.Int64()], config.aggregates)
    closing = any(isinstance(e, Column) and e.name in config.progressing for _, e, _ in config.keys)
    return RelationGroups(config.window.range, keys, inputs, config.aggregates, closing)


def progressing(plan: Plan) -> frozenset[str]:
    """Columns of a plan that hold, in every row, the attribute on which the rows progress."""
    match plan:
        case Scan(stream=stream):
            column = stream.time.column
            return frozenset((column,)) if stream.time.kind == "external" and column is not None else frozenset()
        case Over(window=window) if window.on_expiry:
            return frozenset()
        case Filter() | Derived() | Over() | Lookup():
            return progressing(plan.input)
        case Project():
            below = progressing(plan.input)
            return frozenset(n for n, e in plan.items if isinstance(e, Column) and e.name in {*below, TS})
        case Union():
            names = [progressing(p) for p in plan.parts]
            columns = [[f.name in own for f in p.schema] for own, p in zip(names, plan.parts, strict=True)]
            return frozenset(
                f.name for f, all_of in zip(plan.schema, zip(*columns, strict=True), strict=True) if all(all_of)
            )
    return frozenset()


__all__ = ["RelationAggregate", "RelationAggregateConfig", "progressing"]
