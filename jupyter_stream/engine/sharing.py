"""Which operators of a query that starts are those of running queries, and how these come to share them.

Two steps are the same if they do the same with the same inputs, down to the feeds (exactly matching subexpressions,
`stream-manager` paper §3.2). A query's answers begin when it begins: with queries that started earlier it shares what remembers
nothing, and what has had nothing to remember yet. Not where the order counts in which the rows of one batch come by several
ways, so that answers are those the query would give alone, row by row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.engine.shared import SharedPart
from jupyter_stream.operators.filter import Filter
from jupyter_stream.operators.for_all import ForAll
from jupyter_stream.operators.graph import Entry, Step
from jupyter_stream.operators.named import Named
from jupyter_stream.operators.project import Project
from jupyter_stream.operators.retime import Retime
from jupyter_stream.operators.sample import Sample
from jupyter_stream.operators.table_lookup import TableLookup
from jupyter_stream.operators.user_answers import UserAnswers

_FORGETFUL = (Filter, ForAll, Named, Project, Retime, Sample, UserAnswers)
"""Operators whose answers depend on the rows at hand alone."""


def share(starting: object, running: Sequence[object], parts: list[SharedPart]) -> None:
    """Let a query that starts, wired to its feeds, use operators of running ones where that changes no answer.

    Args:
        starting: the query; nothing is done for one that isn't a `Pipeline`.
        running: those it may share with.
        parts: all shared parts; new ones are added, and take themselves out when nobody reads them.
    """
    if isinstance(starting, Pipeline) and starting.shares:
        others = [r for r in running if isinstance(r, Pipeline) and r.shares and r.revised == starting.revised]
        _Search(starting, others, parts).visit(starting.graph.root)


Pairs: TypeAlias = dict[Step | Entry, Step | Entry]
"""Steps of the query that starts, and those of another that do the same."""


class _Search:
    def __init__(self, starting: Pipeline, others: Iterable[Pipeline], parts: list[SharedPart]) -> None:
        self._starting = starting
        self._others = [o for o in others if any(f in o.feeds for f in starting.feeds)]
        self._parts = parts

    def visit(self, node: Step | Entry) -> None:
        """Share as much of it as can be."""
        if isinstance(node, Entry):
            return
        for other in self._others:
            for step in other.graph.steps:
                pairs: Pairs = {}
                if self._same(node, step, other, pairs) and self._may_join(step, other):
                    self._join(node, step, other, pairs)
                    return
        for below in list(node.inputs):
            self.visit(below)

    def _same(self, own: Step | Entry, step: Step | Entry, other: Pipeline, pairs: Pairs) -> bool:
        pairs[own] = step
        if isinstance(own, Entry) or isinstance(step, Entry):
            if not (isinstance(own, Entry) and isinstance(step, Entry)):
                return False
            return any(f.stream is own.stream is step.stream and f in other.feeds for f in self._starting.feeds)
        return (
            type(own.operator) is type(step.operator)
            and own.does is not None
            and own.does == step.does
            and (isinstance(own.operator, _FORGETFUL) or _pattern(own) == _pattern(step))
            and len(own.inputs) == len(step.inputs)
            and all(self._same(a, b, other, pairs) for a, b in zip(own.inputs, step.inputs, strict=True))
        )

    def _may_join(self, root: Step, other: Pipeline) -> bool:
        nodes = list(_below(root))
        steps = {s for s in nodes if isinstance(s, Step)}
        if any(s.serves is not None and s.serves not in steps for s in steps):
            return False  # it tells a step further up of its rows
        ways = Counter(e.stream for e in nodes if isinstance(e, Entry))
        for pipeline in (self._starting, other):
            all_ways = Counter(e.stream for e in pipeline.graph.entries)
            if any(all_ways[stream] not in (1, count) for stream, count in ways.items()):
                return False
        return all(isinstance(s.operator, _FORGETFUL) or self._fresh(s, other) for s in steps)

    def _fresh(self, step: Step, other: Pipeline) -> bool:
        if isinstance(step.operator, TableLookup):
            # changes go by the low-watermark of all a query reads
            return step.operator.unchanged and set(other.feeds) == set(self._starting.feeds)
        return step.control.rows_in == 0

    def _join(self, own: Step, step: Step, other: Pipeline, pairs: Pairs) -> None:
        starting = self._starting
        part = step.part if isinstance(step.part, SharedPart) and step.part.root is step else self._cut(step, other)
        dropped = {e for e in _below(own) if isinstance(e, Entry)}
        for feed, entries in starting.feeds.items():
            starting.feeds[feed] = [e for e in entries if e not in dropped]
        if own.target is not None:
            above = own.target.step
            above.inputs = [step if i is own else i for i in above.inputs]
        starting.graph.replace(pairs)
        tap = part.read_by(starting, own.target)
        part.told()
        part.repeat(tap)

    def _cut(self, root: Step, pipeline: Pipeline) -> SharedPart:
        """Make a part of its own of what leads to a step of a query, or of a part it shares."""
        owner = root.part if isinstance(root.part, SharedPart) else pipeline
        nodes = set(_below(root))
        steps = [n for n in nodes if isinstance(n, Step) and n.part is root.part]
        part = SharedPart(root, steps, pipeline.revised, pipeline, self._parts.remove)
        for step in steps:
            step.part = part
        for feed, entries in list(owner.feeds.items()):
            moved = [e for e in entries if e in nodes]
            if moved:
                owner.feeds[feed] = [e for e in entries if e not in nodes]
                part.attach(feed, moved)
                if isinstance(owner, SharedPart) and not owner.feeds[feed]:
                    owner.let_go(feed)
        for tap in list(owner.taps):
            if tap.target is not None and tap.target.step in nodes:
                owner.taps.remove(tap)
                part.taps.append(tap)
                tap.taker = part
        if isinstance(owner, SharedPart):
            owner.steps = tuple(s for s in owner.steps if s.part is owner)
        target, root.target = root.target, None
        part.read_by(owner, target)
        self._parts.append(part)
        return part


def _pattern(step: Step) -> object:
    """How what leaves a step is taken back, by which structures may be chosen."""
    return None if step.edge is None else step.edge.pattern


def _below(node: Step | Entry) -> Iterator[Step | Entry]:
    yield node
    if isinstance(node, Step):
        for below in node.inputs:
            yield from _below(below)


__all__ = ["share"]
