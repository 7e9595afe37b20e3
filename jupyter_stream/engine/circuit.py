"""Messages on their way through operators: from step to step, with what each took and gave in its control table.

The engine's thread alone calls this.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator

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
from jupyter_stream.operators.graph import Step, Target
from jupyter_stream.operators.protocol import ByKey, Paired


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

    def deliver(self, target: Target | None, message: Message) -> None:
        """A message for a step; without one, for whoever takes what comes out."""
        if isinstance(message, Missed | Failed):
            self._aside(message)
            return
        if target is None:
            self._give(message)
            return
        operator, control = target.step.operator, target.step.control
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

    def go_on(self) -> None:
        """Have the operator that rests longest say more."""
        self.feed, step, messages = self.resting.popleft()
        self._drive(step, messages)

    def _drive(self, step: Step, messages: Iterator[Message]) -> None:
        """Send on what an operator says, until it rests or has said it all."""
        control, onward = step.control, step.target
        while True:
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
                control.rows_out += made.rows
            elif isinstance(made, Punctuation):
                step.said = made.value
            self.deliver(onward, made)
