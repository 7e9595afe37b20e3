"""Operators that several queries share: one subplan with one state, and as many readers as there are.

After STREAM's shared subplans and queues with several readers (`stream-manager` paper §3.2, `stream-overview` §4); a reader that
is paused keeps what it has not read. All methods but the properties are called by the engine's thread alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from jupyter_stream.core import logs
from jupyter_stream.core.messages import Message, Missed, Punctuation, Tick
from jupyter_stream.core.snapshot import State
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.engine.circuit import Circuit
from jupyter_stream.engine.failing import Abandoned
from jupyter_stream.engine.feed import Feed
from jupyter_stream.errors import reason
from jupyter_stream.graph.graph import Entry, Step, StepInput
from jupyter_stream.schedulers import FirstCome, Scheduler

log = logs.of(__name__)


class Taker(Protocol):
    """What reads a shared part: a query, or another shared part."""

    feeds: dict[Feed, list[Entry]]
    taps: list[Tap]

    @property
    def queries(self) -> Sequence[Sharer]:
        """The queries that need it, oldest first."""

    def hear(self, feed: Feed, tap: Tap, message: Message) -> None:
        """A message of a part it reads."""

    def no_more(self, tap: Tap) -> None:
        """There will be no more from that part."""


class Sharer(Taker, Protocol):
    """A query that can share operators."""

    name: str
    paused: bool
    busy: bool

    @property
    def goes_straight(self) -> bool:
        """Whether each message goes through all operators under any policy."""

    def finish(self, state: State, error: str | None = None) -> None:
        """There will be no more."""


@dataclass(eq=False)
class Tap:
    """A place where what a shared part gives is read.

    Attributes:
        part: what is read.
        taker: who reads.
        target: where it goes there; None if straight to the answers.
        ended: whether nothing more will come.
    """

    part: SharedPart
    taker: Taker
    target: StepInput | None
    ended: bool = False


class SharedPart:
    """A subplan of several queries.

    Args:
        root: its last step.
        steps: all of them.
        revised: whether it is to hear of every batch's end (EMIT CHANGES).
        first: the query whose it was.
        retire: called when nobody reads it any more.
    """

    def __init__(
        self,
        root: Step,
        steps: Sequence[Step],
        revised: bool,
        first: Sharer,
        retire: Callable[[SharedPart], None],
    ) -> None:
        self.root = root
        self.steps = tuple(steps)
        self.revised = revised
        self.feeds: dict[Feed, list[Entry]] = {}
        self.taps: list[Tap] = []
        self.readers: list[Tap] = []
        self.circuit = Circuit(self._hand_on, self._hand_on)
        self.goes_straight = first.goes_straight
        self.names: Sequence[str] = (first.name,)
        self.policy = FirstCome.name
        """The name of the policy its operators work by: the session's."""
        self._ends: list[tuple[Feed, Message]] = []
        self._reached: dict[Feed, int] = {}
        self._retire = retire

    # -- who reads ---------------------------------------------------------------------------------------------------

    @property
    def queries(self) -> Sequence[Sharer]:
        """The queries that read it, directly or not, each once, oldest first."""
        return list(dict.fromkeys(q for tap in self.readers for q in tap.taker.queries))

    def read_by(self, taker: Taker, target: StepInput | None) -> Tap:
        """A new reader."""
        tap = Tap(self, taker, target)
        self.readers.append(tap)
        taker.taps.append(tap)
        return tap

    def attach(self, feed: Feed, entries: list[Entry]) -> None:
        """Take rows of that feed where it enters here."""
        self.feeds[feed] = entries
        self._reached[feed] = feed.reached
        feed.parts.append(self)

    def let_go(self, feed: Feed) -> None:
        """Take no more rows of that feed."""
        del self.feeds[feed], self._reached[feed]
        feed.parts.remove(self)

    def leave(self, tap: Tap, state: State) -> None:
        """A reader reads no more; without any, this ends."""
        if tap in self.readers:
            self.readers.remove(tap)
            if not self.readers:
                self.circuit.close()
                for feed in list(self.feeds):
                    self.let_go(feed)
                for below in self.taps:
                    below.part.leave(below, state)
                self._retire(self)
            elif state != "finished":
                self.note_readers()

    def note_readers(self) -> None:
        """Write down who reads it, here and in what it reads."""
        self.names = tuple(q.name for q in self.queries)
        for step in self.steps:
            step.control.shared_by(self.names)
        for tap in self.taps:
            tap.part.note_readers()

    @property
    def takes(self) -> bool | None:
        """Whether its operators are given what comes: None where that is by another thread, or later."""
        if all(q.paused for q in self.queries):
            return False
        return None if any(q.busy for q in self.queries) else True

    def onward(self) -> Iterator[tuple[StepInput, int]]:
        """Where what its last operator gives goes on to, and how far these were told it is."""
        for tap in self.readers:
            if tap.target is not None and not all(q.paused for q in tap.taker.queries):
                yield tap.target, self.root.said
            if isinstance(tap.taker, SharedPart):
                yield from tap.taker.onward()

    # -- input -------------------------------------------------------------------------------------------------------

    def accept(self, feed: Feed, message: Message) -> None:
        """A message of a feed."""
        if feed not in self.feeds or (isinstance(message, Tick) and not self.revised) or isinstance(message, Missed):
            return  # what an ingest says was missed, the queries hear themselves
        if isinstance(message, Punctuation) and message.value == MAX_TIME:
            if self.circuit.unfinished:
                self._ends.append((feed, message))
                return
            self._reached[feed] = MAX_TIME
        self._guarded(lambda: self._enter(feed, message))

    def _enter(self, feed: Feed, message: Message) -> None:
        for entry in self.feeds[feed]:
            self.circuit.enter(feed, entry.target, message)

    def hear(self, feed: Feed, tap: Tap, message: Message) -> None:
        """A message of a part below."""
        self._guarded(lambda: self.circuit.enter(feed, tap.target, message))

    def no_more(self, tap: Tap) -> None:
        """There will be no more from that part."""
        tap.ended = True
        self._end()

    @property
    def unfinished(self) -> bool:
        """Whether an operator has more to say, which `go_on` has it say between two batches."""
        more = self.circuit.unfinished or bool(self._ends)
        return more and not all(q.paused or q.busy for q in self.queries)

    def go_on(self) -> None:
        """Have operators go on for a while."""
        if self.circuit.unfinished:
            self._guarded(self.circuit.go_on)
        if not self.circuit.unfinished:
            ends, self._ends = self._ends, []
            for feed, message in ends:
                self.accept(feed, message)

    def schedule(self, policy: Scheduler) -> None:
        """Have its operators work by that policy from now on; straight through where one of its queries asks for that."""
        self.policy = policy.title
        self.circuit.schedule(None if policy.straight or self.straight else policy.order())

    @property
    def straight(self) -> bool:
        """Whether each message goes through all its operators under any policy."""
        return self.goes_straight or any(q.goes_straight for q in self.queries)

    def settle(self) -> None:
        """Have operators take all that waits, now."""
        self._guarded(self.circuit.drain)

    # -- output ------------------------------------------------------------------------------------------------------

    def _hand_on(self, message: Message) -> None:
        feed = self.circuit.feed
        assert feed is not None
        for tap in list(self.readers):
            tap.taker.hear(feed, tap, message)

    def repeat(self, tap: Tap) -> None:
        """Tell a reader that has come later what was promised last."""
        if self.root.said != MIN_TIME:
            tap.taker.hear(next(iter(tap.taker.queries[0].feeds)), tap, Punctuation(self.root.said))

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Abandoned:  # nobody waits for it any more
            raise
        except BaseException as error:  # each reader guards its own part: this is ours, and everyone's
            if self.readers:
                log.exception("a part shared by %s failed", ", ".join(self.names))
            for query in self.queries:
                query.finish("failed", reason(error))
            return
        self._end()

    def _end(self) -> None:
        """Tell the readers, if nothing more can come."""
        over = all(v == MAX_TIME for v in self._reached.values()) and all(t.ended for t in self.taps)
        if over and not self.circuit.unfinished:
            for tap in list(self.readers):
                if not tap.ended:
                    tap.taker.no_more(tap)


def below(taps: Sequence[Tap]) -> list[SharedPart]:
    """The parts that are read there, and those that they read, those furthest below first."""
    found = [part for tap in taps for part in (*below(tap.part.taps), tap.part)]
    return list(dict.fromkeys(found))
