"""Windows of different length over the same rows, which keep them once: as long as the longest does.

Each window stays an operator of its own query (or of those that share it as a whole), so that queries come, go and pause as they
would alone; what they keep is one store (`state.window_rows`; synopses that subsume others, `stream-manager` paper §3.2). One
that starts later joins it once no row waits that only one of them has had: rows that live then leave from where they are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jupyter_stream.core.time import MIN_TIME, show_duration
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.engine.sharing import newest_of, same
from jupyter_stream.flow.filter import FilterOperator
from jupyter_stream.flow.named import Named
from jupyter_stream.flow.project import ProjectOperator
from jupyter_stream.flow.sample import SampleOperator
from jupyter_stream.graph.graph import Entry, Step
from jupyter_stream.partials.window_rows import WindowRows
from jupyter_stream.plan import logical
from jupyter_stream.plan.upkeep import Maintenance
from jupyter_stream.relations.alive import AliveOperator

_ROW_BY_ROW = (FilterOperator, Named, ProjectOperator, SampleOperator)
"""Operators that may be below: those that give a row, at its own time, when they get it."""


@dataclass(frozen=True, eq=False)
class _Pair:
    """A window of a query that has started, and one of another (or of itself) over the same rows.

    Attributes:
        own: the one.
        step: the other.
        starting: the query that started last.
        other: the other query.
        since: the newest time of rows that the other has had before this one started, microseconds.
    """

    own: Step
    step: Step
    starting: Pipeline
    other: Pipeline
    since: int


class WindowSharing:
    """Which windows keep their rows together."""

    def __init__(self) -> None:
        self._pending: list[_Pair] = []
        self._kept: list[Step] = []  # windows that read a store
        self._running: list[Pipeline] = []

    def begin(self, starting: object, running: Sequence[object]) -> None:
        """See which windows of a query that starts, wired to its feeds, are over rows that other windows keep.

        Args:
            starting: the query; nothing is done for one that isn't a `Pipeline`.
            running: those that started before.
        """
        if not isinstance(starting, Pipeline):
            return
        since = max(newest_of(starting).values(), default=MIN_TIME)
        windows = list(_windows(starting))
        for i, own in enumerate(windows):
            others = [(r, step, since) for r in running if isinstance(r, Pipeline) for step in _windows(r)]
            others += [(starting, step, MIN_TIME) for step in windows[:i]]
            self._pending += [
                _Pair(own, step, starting, other, after)
                for other, step, after in others
                if _over_the_same_rows(own, step, starting, other)
            ]
        self.go_on()

    def go_on(self) -> None:
        """Some input has been taken: see which windows may keep their rows together from here on."""
        for pair in list(self._pending):
            if not _used(pair.own, [pair.starting]) or not _used(pair.step, [pair.other]):
                self._pending.remove(pair)
            elif pair.starting.shares and pair.other.shares and not (pair.starting.queued or pair.other.queued):
                self._try(pair)

    def _try(self, pair: _Pair) -> None:
        own, other = pair.own.operator, pair.step.operator
        assert isinstance(own, AliveOperator) and isinstance(other, AliveOperator)
        if own.kept_with is not None:
            self._pending.remove(pair)
        elif own.may_keep_with(other, pair.since):
            self._pending.remove(pair)
            if other.kept_with is None:
                other.keep_in(WindowRows())
                self._kept.append(pair.step)
            assert other.kept_with is not None
            own.keep_in(other.kept_with.store)
            self._kept.append(pair.own)

    def together(self, query: object) -> list[Pipeline]:
        """Other queries with windows that keep their rows together with that one's."""
        if not isinstance(query, Pipeline):
            return []
        stores = {
            s: s.operator.kept_with.store
            for s in self._kept
            if isinstance(s.operator, AliveOperator) and s.operator.kept_with
        }
        own = [stores[s] for s in query.graph.steps if s in stores]
        windows = [s for s, store in stores.items() if any(store is o for o in own)]
        return [r for r in self._running if r is not query and any(s in r.graph.steps for s in windows)]

    def note_running(self, running: Sequence[object]) -> None:
        """Queries have started or ended: let go of windows nobody reads any more, write down who keeps rows with whom."""
        self._running = pipelines = [r for r in running if isinstance(r, Pipeline)]
        users = {step: _used(step, pipelines) for step in self._kept}
        for step in [s for s, names in users.items() if not names]:
            assert isinstance(step.operator, AliveOperator)
            step.operator.stop_keeping()
            self._kept.remove(step)
        for step in self._kept:
            assert isinstance(step.operator, AliveOperator) and step.operator.kept_with is not None
            store = step.operator.kept_with.store
            windows = [
                s for s in self._kept if isinstance(s.operator, AliveOperator) and s.operator.kept_with in store.windows
            ]
            names = dict.fromkeys(n for s in windows for n in users[s])
            if len(windows) > 1:
                own = f"{len(windows)} windows of this query"
                step.control.extra["rows_kept_with"] = ", ".join(names) if len(names) > 1 else own
                step.control.extra["rows_kept_for"] = show_duration(store.longest)
            else:
                step.control.extra.pop("rows_kept_with", None)
                step.control.extra.pop("rows_kept_for", None)


def _windows(pipeline: Pipeline) -> Iterator[Step]:
    return (s for s in pipeline.graph.steps if isinstance(s.operator, AliveOperator) and s.does is not None)


def _used(step: Step, pipelines: Sequence[Pipeline]) -> list[str]:
    """Names of the queries that use a step."""
    return [p.name for p in pipelines if p.running and step in p.graph.steps]


def _over_the_same_rows(own: Step, step: Step, starting: Pipeline, other: Pipeline) -> bool:
    feeds = starting.feeds.keys() & other.feeds.keys()
    if own is step or not _row_by_row(own) or not _row_by_row(step):
        return False
    return _but_for_range(own) == _but_for_range(step) and same(own.inputs[0], step.inputs[0], feeds, {})


def _but_for_range(step: Step) -> tuple[logical.Alive, Maintenance]:
    assert isinstance(step.does, tuple)
    plan, maintenance = step.does
    return replace(plan, window=replace(plan.window, range=None, written=True)), maintenance


def _row_by_row(step: Step) -> bool:
    """Whether what is below gives rows as they come, each at its own time."""
    if len(step.inputs) != 1:
        return False
    (below,) = step.inputs
    return isinstance(below, Entry) or (isinstance(below.operator, _ROW_BY_ROW) and _row_by_row(below))


__all__ = ["WindowSharing"]
