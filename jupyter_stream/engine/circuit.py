"""Messages on their way through operators: from step to step, with what each took and gave in its control table.

A message goes straight through all operators, or, under a scheduler that says who works next, waits in queues between them
(`queues`). The engine's thread alone calls this, or the one that has the query's step.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from jupyter_stream.core.messages import (
    Batch,
    Failed,
    KeyPunctuation,
    Message,
    Missed,
    PairPunctuation,
    Punctuation,
    Rest,
    Tick,
)
from jupyter_stream.engine.feed import Feed
from jupyter_stream.engine.queues import QueuedMessage, Queues, StepQueues
from jupyter_stream.engine.turn import late_at_hand
from jupyter_stream.flow.protocol import ByKey, Paired
from jupyter_stream.graph.graph import Step, StepInput
from jupyter_stream.schedulers import FirstCome, WorkOrder

_SLICE = 0.005
"""Seconds for which operators work, step by step, before others have their turn."""
SATED = 2**18
"""Rows that wait in queues from which on a replay is read no further: it would only fill them."""


class Circuit:
    """Steps that lead to one place.

    Args:
        give: takes what comes out of the last step.
        aside: takes late rows that missed answers, and rows an expression failed on, of any step.
    """

    def __init__(self, give: Callable[[Message], None], aside: Callable[[Missed | Failed], None]) -> None:
        self.feed: Feed | None = None  # whose message is under way
        self.resting: deque[tuple[Feed, Step, Iterator[Message]]] = deque()  # operators with more to say
        self._give = give
        self._aside = aside
        self._closed = False
        self.queues = Queues()
        self._order: WorkOrder | None = None
        self._queued = False  # whether messages for operators wait in their queues
        self._since = 0.0  # when the message under way came
        self.at: Step | None = None
        """The step that was given something last."""

    def close(self) -> None:
        """Nobody wants more: what is under way ends at the next message."""
        self._closed = True

    def forget(self) -> None:
        """Let go of what rests or waits, when nothing is under way."""
        self.resting.clear()
        self.queues.clear()

    # -- who works next ----------------------------------------------------------------------------------------------

    def schedule(self, order: WorkOrder | None) -> None:
        """Have operators work in that order from now on; None is each message to completion, as soon as none waits."""
        self._order = order
        self._queued = order is not None or self.queues.count > 0

    @property
    def order(self) -> WorkOrder | None:
        """By what operators take their turns; None where each message goes straight through."""
        return self._order

    @property
    def unfinished(self) -> bool:
        """Whether an operator has more to say, or something waits in front of one."""
        return bool(self.resting) or self.queues.count > 0

    @property
    def sated(self) -> bool:
        """Whether so much waits that sources which can wait should."""
        return self.queues.rows >= SATED

    def enter(self, feed: Feed, target: StepInput | None, message: Message) -> None:
        """A message from outside.

        A batch with late rows goes to completion under any policy, after what came before it: what these missed is told as long
        as it is at hand.
        """
        straight = self._queued and isinstance(message, Batch) and late_at_hand() is not None
        if straight:
            self.drain()
        self.feed = feed
        if straight:
            self._through(lambda: self.deliver(target, message))
            return
        if self._queued:
            self._since = time.monotonic()
        self.deliver(target, message)

    def drain(self) -> None:
        """Have operators take all that waits in front of them, now; those that rest go on resting."""
        order = FirstCome().order()
        while self.queues.count and not self._closed:
            self._step(order, self.queues.ready)

    def go_on(self) -> None:
        """Have the operator that rests longest say more, and others work for a while."""
        if self.resting:
            self.feed, step, messages = self.resting.popleft()
            self._since = time.monotonic()
            self._drive(step, messages)
        until = time.perf_counter() + _SLICE
        order = self._order or FirstCome().order()
        while self.queues.count and not self._closed and time.perf_counter() < until:
            ready = [o for o in self.queues.ready if not self._rests(o.step)]
            if not ready:
                break
            self._step(order, ready)
        if self._order is None and not self.queues.count:
            self._queued = False

    def _step(self, order: WorkOrder, ready: Sequence[StepQueues]) -> None:
        self.queues.run(order.next(ready), self._taken)

    def _taken(self, target: StepInput, waiting: QueuedMessage) -> bool:
        self.feed, self._since = waiting.feed, waiting.since
        self._hand(target, waiting.message)
        return not self._rests(target.step)

    def _rests(self, step: Step) -> bool:
        """Whether an operator has more to say of what it was given."""
        return any(step is resting for _, resting, _ in self.resting)

    def _through(self, work: Callable[[], None]) -> None:
        """Do something, with all messages that come of it going straight through."""
        before, self._queued = self._queued, False
        try:
            work()
        finally:
            self._queued = before

    # -- from step to step -------------------------------------------------------------------------------------------

    def deliver(self, target: StepInput | None, message: Message) -> None:
        """A message for a step; without one, for whoever takes what comes out."""
        if isinstance(message, Missed | Failed):
            self._aside(message)
        elif target is None:
            self._give(message)
        elif self._queued:
            self.queues.put(target, message, self.feed, self._since)
        else:
            self._hand(target, message)

    def _hand(self, target: StepInput, message: Message) -> None:
        operator, control = target.step.operator, target.step.control
        self.at = target.step
        out: Iterable[Message]
        if isinstance(message, Batch):
            control.rows_in += message.rows
            control.batches_in += 1
            out = operator.on_batch(target.port, message)
        elif isinstance(message, Punctuation):
            out = operator.on_punctuation(target.port, message)
        elif isinstance(message, KeyPunctuation):
            out = operator.on_key_punctuation(target.port, message) if isinstance(operator, ByKey) else ()
        elif isinstance(message, PairPunctuation):
            out = operator.on_pair_punctuation(message) if isinstance(operator, Paired) else ()
        else:
            assert isinstance(message, Tick)
            out = operator.on_tick(message)
        self._drive(target.step, iter(out))

    def run(self, step: Step, messages: Iterator[Message]) -> None:
        """Send on what an operator says that nothing has come to."""
        self._drive(step, messages)

    def _drive(self, step: Step, messages: Iterator[Message]) -> None:
        """Send on what an operator says, until it rests or has said it all."""
        control, onward = step.control, step.target
        while not self._closed:
            self.at = step
            began = time.perf_counter_ns()
            made = next(messages, None)
            control.nanoseconds += time.perf_counter_ns() - began
            if made is None:
                return
            if isinstance(made, Rest):
                assert self.feed is not None
                self.resting.append((self.feed, step, messages))
                return
            if isinstance(made, Batch):
                if not made.rows and not made.tells:
                    continue  # operators may count on rows
                control.rows_out += made.rows
            elif isinstance(made, Punctuation):
                step.said = made.value
            self.deliver(onward, made)
