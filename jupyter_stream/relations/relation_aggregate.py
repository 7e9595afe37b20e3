"""Aggregates without SLIDE: a relation, given as its net changes at each instant once no row before it can come.

Time logic is here and in `AtInstants`; `RelationGroups` holds the values. Its input may be a relation itself, whose changes take
rows back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import polars as pl

from jupyter_stream.arrays.exact import BEYOND
from jupyter_stream.arrays.rows import rows_where
from jupyter_stream.core.messages import SIGN, TS, UNTIL, Batch, Failed, Message, Punctuation, ints
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.flow.at_instants import AtInstants
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.flow.protocol import Recall
from jupyter_stream.functions.expression import Column, Expr
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.relations.relation import Beyond, RelationGroups
from jupyter_stream.relations.relation_ends import EndingGroups, SignedGroups
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


class RelationAggregate(AtInstants):
    """Rows entering and leaving the answer: the keys, the aggregates, `$ts` (the instant) and `$sign`.

    Changes are net per instant and group, by instant, leaving rows before entering ones.
    """

    def __init__(self, config: RelationAggregateConfig) -> None:
        super().__init__(f"{config.name} {config.window}" if config.feed == "rows" else config.name)
        self._config = config
        self._evaluator = Evaluator([e for _, e, _ in config.keys] + list(config.inputs))
        self._groups = _groups(config)
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

    @property
    def waits_for(self) -> int:
        """Where rows leave by themselves, or are answered before there is one, that may be at any time."""
        if self._config.keys and (self._config.feed == "changes" or not self.control.bytes):
            return super().waits_for
        return MIN_TIME

    def take(self, port: int, frame: pl.DataFrame) -> Iterator[Message]:
        """Only keys and arguments, and whether or when the rows leave."""
        ts = ints(frame.get_column(TS))
        self.saw(int(ts.min()), int(ts.max()))
        frame, columns, failed = self._evaluator.evaluate(frame)
        if failed is not None:
            yield failed
        keys, feed = len(self._config.keys), self._config.feed
        if feed == "until":
            columns = [*columns, frame.get_column(UNTIL)]
        rows = self._groups.rows(frame.get_column(TS), columns[:keys], columns[keys:])
        self.keep(port, rows.hstack([frame.get_column(SIGN)]) if feed == "changes" else rows)
        self.report()

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """A relation that has its row without any of the input has it by the end."""
        if self._config.begun and not self._seen and punctuation.value == MAX_TIME:
            at = max(self._reached, 0)
            self.saw(at, at)
        yield from super().on_punctuation(port, punctuation)

    def step(self, due: Sequence[pl.DataFrame | None], until: int) -> Iterator[Message]:
        """Give the groups that change."""
        (rows,) = due
        if rows is not None and isinstance(self._groups, SignedGroups):
            enters = ints(rows.get_column(SIGN)) > 0
            rows = rows.drop(SIGN)
            if not enters.all():
                self._groups.leave(rows_where(rows, ~enters))
                rows = rows_where(rows, enters) if enters.any() else None
        for changes in self._groups.release(rows, until):
            for beyond in changes.beyond:
                yield self._overflowed(beyond)
            if changes.frame is not None:
                yield Batch(changes.frame)

    def _overflowed(self, beyond: Beyond) -> Failed:
        keys = [c.alias(n) for c, (n, _, _) in zip(beyond.keys, self._config.keys, strict=True)]
        frame = pl.DataFrame([*keys, pl.Series(TS, beyond.at)])
        return Failed.all(frame, BEYOND)

    def recalls(self) -> Recall | None:
        """The rows that wait or live; all there were, where they live for ever, and until the first has come."""
        oldest = self._groups.oldest
        return None if oldest is None else Recall(min(oldest, self.since))

    def report(self) -> None:
        """And how many groups and rows live, and rows wait."""
        self.holds(self._groups.bytes)
        self.control.extra["live_groups"] = self._groups.live
        self.control.extra["waiting_rows"] = self.waiting_rows
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


__all__ = ["RelationAggregate", "RelationAggregateConfig"]
