"""Which operators of a query that starts are those of running queries, and how these come to share them.

Two steps are the same if they do the same with the same inputs, down to the feeds (exactly matching subexpressions,
`stream-manager` paper §3.2). A query's answers begin when it begins: with queries that started earlier it shares what remembers
nothing, and what has had nothing to remember yet; anything else once what came before it matters no more (`Recall`). Not where
a window's answers go on counting what came before, as the row numbers of `[ROWS n SLIDE m]` do, nor
where the order counts in which the rows of one batch come by several ways, so that answers are those the query would give
alone, row by row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.engine.feed import Feed
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.engine.shared import SharedPart, Tap
from jupyter_stream.flow.filter import FilterOperator
from jupyter_stream.flow.named import Named
from jupyter_stream.flow.progress_for_all import ForAll
from jupyter_stream.flow.project import ProjectOperator
from jupyter_stream.flow.protocol import Forgets, Narrow, Operator
from jupyter_stream.flow.retime import Retime
from jupyter_stream.flow.sample import SampleOperator
from jupyter_stream.flow.table_lookup import TableLookup
from jupyter_stream.flow.witness import Witness
from jupyter_stream.graph.graph import Entry, Step
from jupyter_stream.relations.instants_of_joins import LivesAtInstants
from jupyter_stream.relations.to_stream import Entering
from jupyter_stream.schedulers import Scheduler
from jupyter_stream.windowed.extent_rows import ExtentRowsOperator
from jupyter_stream.windowed.user_answers import UserAnswers

_FORGETFUL = (
    Entering,
    ExtentRowsOperator,
    FilterOperator,
    ForAll,
    LivesAtInstants,
    Named,
    ProjectOperator,
    Retime,
    SampleOperator,
    UserAnswers,
    Witness,
)
"""Operators whose answers depend on the rows at hand alone."""


class Sharing:
    """Who shares what.

    Args:
        policy: by which operators that queries share take their turns.
    """

    def __init__(self, policy: Callable[[], Scheduler]) -> None:
        self.parts: list[SharedPart] = []
        """All parts that queries share."""
        self._policy = policy
        self._joiners: dict[Pipeline, _Joiner] = {}

    def begin(self, starting: object, running: Sequence[object]) -> None:
        """Let a query that starts, wired to its feeds, use operators of running ones where that changes no answer.

        Args:
            starting: the query; nothing is done for one that isn't a `Pipeline`.
            running: those it may share with.
        """
        if isinstance(starting, Pipeline) and starting.shares:
            search = _Search(starting, running, self.parts, self._policy)
            search.visit(starting.graph.root, lambda match: search.is_fresh(match) and search.join(match))
            newest = newest_of(starting)
            if any(value != MIN_TIME for value in newest.values()):
                self._joiners[starting] = _Joiner(newest, tuple(running))

    def go_on(self, running: Sequence[object]) -> None:
        """Some input has been taken: see whether queries that started later have come to hold what others hold."""
        for starting, joiner in list(self._joiners.items()):
            elders = joiner.elders = tuple(r for r in joiner.elders if r in running)
            if not starting.running or not elders:
                del self._joiners[starting]
                continue
            if not starting.shares:
                continue
            if joiner.looked_at != elders:
                joiner.look(_Search(starting, elders, self.parts, self._policy), elders)
            for match in joiner.pending:
                search = _Search(starting, [match.other], self.parts, self._policy)
                if match.other.shares and search.holds(match) and joiner.meet(match, starting):
                    search.join(match)
                    joiner.newest = newest_of(starting)
                    for each in self._joiners.values():
                        each.looked_at = None
                    break


class _Joiner:
    """A query that started later than others.

    Args:
        newest: of each of its feeds the time of the newest row or promise that they have had, and it has not.
        elders: those others; what has started since has had less.
    """

    def __init__(self, newest: dict[Feed, int], elders: tuple[object, ...]) -> None:
        self.newest = newest
        self.elders = elders
        self.pending: list[_Match] = []
        self.looked_at: tuple[object, ...] | None = None

    def look(self, search: _Search, elders: tuple[object, ...]) -> None:
        """Find what it may come to share."""
        self.pending = []
        self.looked_at = elders
        search.visit(search.starting.graph.root, self._note)

    def _note(self, match: _Match) -> bool:
        apart = _apart(match)
        if not apart or not all(isinstance(own.operator, Forgets) for own, _ in apart):
            return False
        self.pending.append(match)
        return True

    def meet(self, match: _Match, starting: Pipeline) -> bool:
        """Whether all operators of a match go by the same as the other's, those below others first."""
        streams = {n.stream for n in _below(match.step) if isinstance(n, Entry)}
        for own, step in reversed(_apart(match)):
            if own in match.met:
                continue
            below = [match.met[s] for s in _below(own) if isinstance(s, Step) and s in match.met] or [self.newest]
            since = max(newest[f] for newest in below for f in starting.feeds if f.stream in streams)
            if not _meet(own, step, since):
                return False
            match.met[own] = newest_of(starting)
        return True


@dataclass(frozen=True, eq=False)
class _Match:
    """A step of the query that starts, and one of another query that does the same."""

    own: Step
    step: Step
    other: Pipeline
    pairs: dict[Step | Entry, Step | Entry]
    met: dict[Step, dict[Feed, int]] = field(default_factory=dict)
    """Steps of the query that starts from when on they have held what the other's hold: the newest of each feed then."""


class _Search:
    def __init__(
        self,
        starting: Pipeline,
        running: Iterable[object],
        parts: list[SharedPart],
        policy: Callable[[], Scheduler],
    ) -> None:
        self._policy = policy
        self.starting = starting
        others = [r for r in running if isinstance(r, Pipeline) and r is not starting and r.shares]
        self._others = [
            o for o in others if o.revised == starting.revised and not o.feeds.keys().isdisjoint(starting.feeds)
        ]
        self._parts = parts

    def visit(self, node: Step | Entry, take: Callable[[_Match], bool]) -> None:
        """Offer matches, outermost steps first; those below one that is taken are not offered."""
        if isinstance(node, Entry) or any(node in other.graph.steps for other in self._others):
            return
        for other in self._others:
            for step in other.graph.steps:
                match = _Match(node, step, other, {})
                if self.holds(match) and take(match):
                    return
        for below in list(node.inputs):
            self.visit(below, take)

    def holds(self, match: _Match) -> bool:
        """Whether a match is one, now."""
        match.pairs.clear()
        both = match.own in self.starting.graph.steps and match.step in match.other.graph.steps
        both = both and (match.own.part is None or self._tap(match.own) is not None)
        common = self.starting.feeds.keys() & match.other.feeds.keys()
        return both and same(match.own, match.step, common, match.pairs) and self._stands_alone(match)

    def _stands_alone(self, match: _Match) -> bool:
        nodes = list(_below(match.step))
        steps = {s for s in nodes if isinstance(s, Step)}
        if any(s.serves is not None and s.serves not in steps for s in steps):
            return False  # it tells a step further up of its rows
        ways = Counter(e.stream for e in nodes if isinstance(e, Entry))
        for pipeline in (self.starting, match.other):
            all_ways = Counter(e.stream for e in pipeline.graph.entries)
            if any(all_ways[stream] not in (1, count) for stream, count in ways.items()):
                return False
        return True

    def is_fresh(self, match: _Match) -> bool:
        """Whether there is nothing the other query remembers, and the one that starts doesn't."""
        steps = (s for s in _below(match.step) if isinstance(s, Step))
        return all(isinstance(s.operator, _FORGETFUL) or self._fresh(s, match.other) for s in steps)

    def _fresh(self, step: Step, other: Pipeline) -> bool:
        if isinstance(step.operator, TableLookup):
            # changes go by the low-watermark of all a query reads
            return step.operator.unchanged and set(other.feeds) == set(self.starting.feeds)
        return step.control.rows_in == 0

    def join(self, match: _Match) -> bool:
        """Have the query that starts read the other's step rather than its own. Returns True."""
        own, step, starting = match.own, match.step, self.starting
        part = step.part if isinstance(step.part, SharedPart) and step.part.root is step else self._cut(match)
        dropped = set(_below(own))
        for feed, entries in starting.feeds.items():
            starting.feeds[feed] = [e for e in entries if e not in dropped]
        read = self._tap(own)  # where it shares that step with others, which had no more rows than it
        target = own.target if read is None else read.target
        for tap in list(starting.taps):
            if tap is read or (tap.target is not None and tap.target.step in dropped):
                starting.taps.remove(tap)
                tap.part.leave(tap, "stopped")
        if target is not None:
            above = target.step
            above.inputs = [step if i is own else i for i in above.inputs]
        starting.graph.replace(match.pairs)
        for here, there in match.pairs.items():
            if isinstance(here, Step) and isinstance(there, Step):
                _read_by_both(here.operator, there.operator)
        tap = part.read_by(starting, target)
        part.note_readers()
        part.repeat(tap)
        return True

    def _tap(self, step: Step) -> Tap | None:
        """Where the query that starts reads a shared part's last step."""
        return next((tap for tap in self.starting.taps if tap.part.root is step), None)

    def _cut(self, match: _Match) -> SharedPart:
        """Make a part of its own of what leads to a step of a query, or of a part it shares."""
        root, pipeline = match.step, match.other
        owner = root.part if isinstance(root.part, SharedPart) else pipeline
        nodes = set(_below(root))
        steps = [n for n in nodes if isinstance(n, Step) and n.part is root.part]
        part = SharedPart(root, steps, pipeline.revised, pipeline, self._parts.remove)
        part.schedule(self._policy())
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
            if tap.target is not None and tap.target.step in steps:
                owner.taps.remove(tap)
                part.taps.append(tap)
                tap.taker = part
        if isinstance(owner, SharedPart):
            owner.steps = tuple(s for s in owner.steps if s.part is owner)
        target, root.target = root.target, None
        part.read_by(owner, target)
        self._parts.append(part)
        return part


def same(
    own: Step | Entry, step: Step | Entry, feeds: Collection[Feed], pairs: dict[Step | Entry, Step | Entry]
) -> bool:
    """Whether two steps do the same with the same inputs.

    Args:
        own: one of them.
        step: the other.
        feeds: those that both their queries read.
        pairs: takes all steps and streams below that do the same, and these two.
    """
    pairs[own] = step
    if isinstance(own, Entry) or isinstance(step, Entry):
        if not (isinstance(own, Entry) and isinstance(step, Entry)):
            return False
        return any(f.stream is own.stream is step.stream for f in feeds)
    return (
        type(own.operator) is type(step.operator)
        and own.does is not None
        and own.does == step.does
        and (isinstance(own.operator, _FORGETFUL) or _pattern(own) == _pattern(step))
        and len(own.inputs) == len(step.inputs)
        and all(same(a, b, feeds, pairs) for a, b in zip(own.inputs, step.inputs, strict=True))
    )


def _read_by_both(own: Operator, operator: Operator) -> None:
    if isinstance(own, Narrow) and isinstance(operator, Narrow):
        operator.widen(own.wanted)


def _apart(match: _Match) -> list[tuple[Step, Step]]:
    """The pairs of steps in which two queries may hold different things; those that they share already don't."""
    pairs = ((a, b) for a, b in match.pairs.items() if a is not b and isinstance(a, Step) and isinstance(b, Step))
    return [(a, b) for a, b in pairs if not isinstance(a.operator, _FORGETFUL)]


def newest_of(pipeline: Pipeline) -> dict[Feed, int]:
    """Of each of its feeds the time of the newest row, or what has been promised if that is later."""
    frontiers = {feed: feed.ingest.frontier for feed in pipeline.feeds}
    return {feed: max(f.newest, f.value) for feed, f in frontiers.items()}


def _meet(own: Step, step: Step, since: int) -> bool:
    """Whether two operators go by the same, of which one has had rows up to `since` that the other has not."""
    one, other = own.operator, step.operator
    if any(isinstance(below, Step) and isinstance(below.operator, Retime) for below in _below(step)):
        return False  # `since` is a time of the stream's own
    if own.said != step.said or not isinstance(one, Forgets) or not isinstance(other, Forgets):
        return False
    theirs = other.recalls()
    if theirs is None or theirs.since <= since:
        return False
    ours = one.recalls()
    return ours is not None and ours.since > since and ours.rest == theirs.rest


def _pattern(step: Step) -> object:
    """How what leaves a step is taken back, by which structures may be chosen."""
    return None if step.edge is None else step.edge.pattern


def _below(node: Step | Entry) -> Iterator[Step | Entry]:
    yield node
    if isinstance(node, Step):
        for below in node.inputs:
            yield from _below(below)


__all__ = ["Sharing", "newest_of", "same"]
