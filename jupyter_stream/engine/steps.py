"""One query's work at a time, guarded: what it raises ends that query alone, and where it takes long others go on meanwhile.

A step is what a query (or a part that queries share) does with one message; the engine does one after the other. One that
takes long while somebody waits is set aside: its thread keeps it, another thread becomes the engine's, and what comes for
that query waits until the step has ended. So commands are obeyed in time, whatever a query does. The next steps of a query
whose steps take long go aside at once (`lanes`), so that other queries don't wait for them at all.
"""

from __future__ import annotations

import math
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from jupyter_stream.core import logs
from jupyter_stream.core.snapshot import State
from jupyter_stream.core.threads import Answer
from jupyter_stream.engine.failing import Abandoned, SetAside
from jupyter_stream.engine.lanes import Lanes
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.engine.shared import SharedPart
from jupyter_stream.engine.switching import ShortTurns
from jupyter_stream.engine.turn import Turn, of_this_thread
from jupyter_stream.errors import reason

log = logs.of(__name__)

PATIENCE: Final = 0.05
"""Seconds a step may take while others wait; then it is set aside."""

SHORT: Final = 0.02
"""Seconds a query's steps may take on average for the engine's thread to do them itself while there are other queries."""

BRIEF: Final = 0.004
"""The same for one that takes `SHARE` of the engine's time: others would wait for it most of the time."""

SHARE: Final = 0.3
"""The part of the engine's time from which on a query's steps have to be brief."""

PEAK: Final = 0.1
"""Seconds one of its last hundred steps or so may take for that."""

LONG: Final = 1.0
"""Seconds from which on views tell how long a step has been under way."""

_TRIES: Final = 3
"""How often the end of a query is tried."""

Work = Callable[[], None]


class AnyQuery(Protocol):
    """A query, of any kind."""

    name: str

    def finish(self, state: State, error: str | None = None) -> None:
        """There will be no more."""


class Took:
    """How long the steps of a query took of late, in seconds."""

    def __init__(self) -> None:
        self._mean = self._peak = self._busy = self.total = 0.0
        self._until = time.monotonic()

    def note(self, seconds: float) -> None:
        """One more, which has just ended."""
        now = time.monotonic()
        self.total += seconds
        self._mean = 0.8 * self._mean + 0.2 * seconds
        self._peak = max(seconds, 0.98 * self._peak)
        self._busy = self._busy * math.exp(self._until - now) + min(seconds, 1.0)  # of the last second or so
        self._until = now

    @property
    def long(self) -> bool:
        """Whether others shouldn't wait for the next one."""
        return self._peak > PEAK or self._mean > (BRIEF if self._busy > SHARE else SHORT)


class Steps:
    """Whose work is under way, and what waits for it.

    Args:
        submit: has the engine do something between two steps.
        together: other queries that may not work while a query does.
        others: whether queries run beside some.
    """

    def __init__(
        self,
        submit: Callable[[Work], Answer[None]],
        together: Callable[[Any], Sequence[Any]],
        others: Callable[[Sequence[Any]], bool],
    ) -> None:
        self._submit = submit
        self._together = together
        self._others = others
        self.turn = Turn(submit)
        self._lanes = Lanes(self._do_aside)
        self._took: weakref.WeakKeyDictionary[Any, Took] = weakref.WeakKeyDictionary()
        self._aside: dict[Turn, Any] = {}
        self._held: deque[tuple[Any, Work]] = deque()
        self._slow: set[Any] = set()
        self._short_turns = ShortTurns()
        self._abandoned = False

    # -- the engine's thread -----------------------------------------------------------------------------------------

    def do(self, owner: Any, work: Work, takes: bool = False, here: bool = False) -> None:
        """Do some work of a query or shared part, or hold it while a step of it is aside.

        Args:
            owner: whose it is.
            work: what is to be done.
            takes: whether a query is only given a message, which it holds back itself while a step of it is aside.
            here: whether whoever wants that waits for it.

        Raises:
            SetAside: this thread is the engine's no more.
        """
        if self._aside and self._waits(owner):
            if takes and isinstance(owner, Pipeline):
                guarded(owner, work)
            else:
                self._held.append((owner, work))
            return
        took = self._took_by(owner)
        long = not here and took.long and self._apart(owner)
        if isinstance(owner, Pipeline) and not here:
            owner.apart = long
            if long and takes:  # it holds that back, and works at it when it goes on
                guarded(owner, work)
                return
        if long:
            if any(q.busy for q in queries(owner)):
                self._held.append((owner, work))
            else:
                self._send_aside(owner, work)
            return
        turn = of_this_thread() or self.turn
        self._timed(turn, owner, work, took)
        if turn.end():
            raise SetAside

    def _apart(self, owner: Any) -> bool:
        """Whether an owner's steps can go on beside others', and there are any."""
        own = queries(owner)
        return all(isinstance(q, Pipeline) for q in own) and self._others(own)

    def _send_aside(self, owner: Any, work: Work) -> None:
        turn = Turn(self._submit)
        turn.aside = True
        self._put_aside(turn, owner)
        self._lanes.put(turn, owner, work, weight(owner))

    def _timed(self, turn: Turn, owner: Any, work: Work, took: Took) -> None:
        began = time.perf_counter()
        turn.begin(owner)
        guarded(owner, work)
        took.note(time.perf_counter() - began)

    def _took_by(self, owner: object) -> Took:
        took = self._took.get(owner)
        if took is None:
            took = self._took[owner] = Took()
        return took

    def _do_aside(self, turn: Turn, owner: Any, work: Work) -> None:
        """A step that is aside from its beginning, in a thread that is never the engine's."""
        turn.take()
        try:
            self._timed(turn, owner, work, self._took_by(owner))
            turn.end()
        except Abandoned:
            pass
        except BaseException as error:
            fail(owner, error)
        finally:
            self._submit(lambda: self.over(turn))

    def spent(self, owner: object) -> float:
        """The seconds that the steps of a query or shared part took so far, the one under way too."""
        took = self._took.get(owner)
        under_way = sum(turn.seconds for turn in self._aside if turn.owner is owner)
        return under_way if took is None else took.total + under_way

    @property
    def aside(self) -> Sequence[object]:
        """The queries and shared parts whose steps are aside."""
        return list(self._aside.values())

    def busy(self, reader: Any) -> bool:
        """Whether a query's step is aside."""
        return bool(self._aside) and (getattr(reader, "busy", False) or reader in self._aside.values())

    def _waits(self, owner: Any) -> bool:
        aside = self._aside.values()
        if not isinstance(owner, SharedPart):
            return owner in aside
        return any(isinstance(a, SharedPart) and not set(a.queries).isdisjoint(owner.queries) for a in aside)

    def over(self, turn: Turn) -> None:
        """A step that was aside has ended (a command): what came meanwhile is done."""
        self._aside.pop(turn, None)
        self._switch()
        still = {q for other in self._aside for q in other.queries}
        for query in turn.queries:
            if isinstance(query, Pipeline) and query not in still:
                query.free()  # first: what is held would find it at work, and nobody would come to it again
        turn.queries = ()  # its thread waits for more, and holds on to no query meanwhile
        held, self._held = self._held, deque()
        try:
            while held:
                self.do(*held.popleft())
        finally:  # this may be set aside as well
            self._held.extend(held)

    def leave(self) -> None:
        """Queries have ended: steps aside that are nobody's any more are told to end as well."""
        for turn, owner in self._aside.items():
            if all(not getattr(q, "running", False) for q in queries(owner)):
                turn.abandon(Abandoned)

    def abandon(self) -> None:
        """The session is closed: whatever is under way is to end."""
        self._abandoned = True
        self._switch()
        self._lanes.close()
        for turn in [*self._aside, self.turn]:
            turn.abandon(Abandoned)

    # -- the supervisor's thread -------------------------------------------------------------------------------------

    def set_aside(self) -> bool:
        """Set the step under way aside if it has taken too long. Returns whether another thread is to be the engine's."""
        turn = self.turn
        if turn.seconds < PATIENCE:
            return False
        with turn.settled:
            owner = turn.owner
            if owner is None or turn.seconds < PATIENCE:
                return False
            turn.aside = True
            self._put_aside(turn, owner)
            self.turn = Turn(self._submit)
        log.info("a step of %s takes long and goes on in a thread of its own", ", ".join(q.name for q in turn.queries))
        return True

    def _put_aside(self, turn: Turn, owner: Any) -> None:
        own = queries(owner)
        turn.queries = tuple(dict.fromkeys([*own, *(o for q in own for o in self._together(q))]))
        for query in turn.queries:
            if isinstance(query, Pipeline):
                query.busy = True
        self._aside[turn] = owner
        self._switch()

    def _switch(self) -> None:
        """Beside steps that take long, threads take turns more often."""
        self._short_turns.want(bool(self._aside) and not self._abandoned)

    def attend(self) -> None:
        """See to it that steps aside have threads; have views tell of those that take long, and of their end."""
        self._lanes.look()
        self._switch()
        turns = [*self._aside, self.turn]
        slow = {q for turn in turns if turn.seconds >= LONG for q in queries(turn.owner)}
        for query in slow | self._slow:
            if isinstance(query, Pipeline):
                query.stuck = query in slow
                query.changes += 1
        self._slow = slow

    def is_aside(self, thread: int) -> bool:
        """Whether a step is aside in that thread."""
        return any(turn.thread == thread for turn in list(self._aside))

    def under_way(self, query: Any) -> Turn | None:
        """The turn in which a step of that query is under way."""
        for turn in [*self._aside, self.turn]:
            owner = turn.owner
            if owner is not None and query in queries(owner):
                return turn
        return None


def queries(owner: Any) -> Sequence[Any]:
    """A query itself, or all that share a part."""
    if owner is None:
        return []
    return list(owner.queries) if isinstance(owner, SharedPart) else [owner]


def weight(owner: object) -> float:
    """The share of the machine that a query has, compared with others; of a part that queries share, theirs together."""
    return float(sum(query.query.weight for query in queries(owner))) or 1.0


def guarded(owner: Any, work: Work) -> None:
    """Do some work of a query, or a part that queries share; what it raises ends them alone."""
    try:
        work()
    except BaseException as error:
        fail(owner, error)


def fail(owner: Any, error: BaseException) -> None:
    """End a query, or all that share a part, for what its work raised."""
    if isinstance(error, Abandoned):
        return
    for query in queries(owner):
        log.error("query %s failed", query.name, exc_info=error)
        end(query, "failed", reason(error))


def end(query: AnyQuery, state: State, why: str | None = None) -> None:
    """End a query, whatever that raises: an interrupt may hit this as well."""
    for _ in range(_TRIES):
        try:
            query.finish(state, why)
        except BaseException:
            log.exception("the end of query %s failed", query.name)
        else:
            return
