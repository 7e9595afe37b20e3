"""Queues between the operators of a query, and the operators as a scheduler sees them.

Messages of one input stay in the order in which they came, punctuations among them; that is all operators may count on. Whoever
works is a scheduler's to say (`schedulers`); only the engine's thread, or the one that has the query's step, comes here.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from textwrap import shorten

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import Batch, Message, Punctuation
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.engine.feed import Feed
from jupyter_stream.flow.steps import Entry, Step, StepInput
from jupyter_stream.plan.users_code import runs_users_code
from jupyter_stream.schedulers import NextStep

_MEMORY = 2**18
"""Rows after which half of what was measured before is forgotten, so that costs follow the data."""
_NAME = 40
"""Letters of an operator's name by which its queues go."""
_STEP = 0.01
"""Seconds after which a step ends that has more rows to take. So many rows are taken at once as fit, by what was measured."""
_UNTRIED = 1_024
"""Rows of the first step, of which nobody knows how long they take."""
_LEAST = 256
"""Rows, of those taken or given, that a step has at least, but where users' code runs: so many take next to no time. Seconds are
those on the wall, and on a busy machine steps would shrink towards a row, of which each costs as much as hundreds."""


@dataclass(slots=True)
class QueuedMessage:
    """A message that waits.

    Attributes:
        message: the message.
        feed: whose message it came of.
        since: when that came to the query, seconds of the monotonic clock.
        number: how many came to this query's queues before it.
        bytes: of its rows.
    """

    message: Message
    feed: Feed | None
    since: float
    number: int
    bytes: int = 0


class PortQueue:
    """What waits in front of one input of an operator.

    Attributes:
        control: rows and bytes, now and at most, and since when the oldest waits.
        low_watermark: the last punctuation that was taken.
    """

    def __init__(self, owner: StepQueues, port: int) -> None:
        self._owner = owner
        self._port = port
        self._waiting: deque[QueuedMessage] = deque()
        self.rows: float = 0
        self.low_watermark = MIN_TIME
        self.control = ControlTable(f"queue of {owner.name}" + (f", input {port + 1}" if port else ""))

    @property
    def empty(self) -> bool:
        """Whether nothing waits."""
        return not self._waiting

    @property
    def first(self) -> int:
        """The number of what came first; there must be something."""
        return self._waiting[0].number

    @property
    def since(self) -> float:
        """When what waits longest came to the query."""
        return self._waiting[0].since if self._waiting else inf

    @property
    def predecessor(self) -> StepQueues | None:
        """What fills it."""
        inputs = self._owner.step.inputs
        below = inputs[self._port] if self._port < len(inputs) else None
        if below is None or isinstance(below, Entry) or below.part is not self._owner.step.part:
            return None
        return self._owner.of(below)

    def put(self, waiting: QueuedMessage) -> None:
        """One more."""
        if isinstance(waiting.message, Batch):
            rows = waiting.message.rows
            waiting.bytes = int(waiting.message.frame.estimated_size())
            self.rows += rows
            self.control.took(rows)
            self.control.holds(self.control.bytes + waiting.bytes)
            self.control.most("most_rows", int(self.rows))
        self._waiting.append(waiting)
        self._tell()

    def take(self, most: float) -> QueuedMessage:
        """What came first; of a batch at most so many rows."""
        waiting = self._waiting[0]
        message = waiting.message
        if not isinstance(message, Batch):
            if isinstance(message, Punctuation):
                self.low_watermark = message.value
            self._waiting.popleft()
            self._tell()
            return waiting
        rows = max(1, int(most))
        if message.rows > rows and not message.tells:
            taken = int(waiting.bytes * rows / message.rows)
            waiting.message = message.with_frame(message.frame[rows:])
            waiting.bytes -= taken
            message = message.with_frame(message.frame[:rows])
            waiting = QueuedMessage(message, waiting.feed, waiting.since, waiting.number, taken)
        else:
            self._waiting.popleft()
        self.rows -= message.rows
        self.control.rows_out += message.rows
        self.control.bytes -= waiting.bytes
        self._tell()
        return waiting

    def clear(self) -> None:
        """Nothing waits any more."""
        self._waiting.clear()
        self.rows = self.control.bytes = 0
        self._tell()

    def _tell(self) -> None:
        self.control.extra["queued_rows"] = int(self.rows)
        self.control.extra["queued_messages"] = len(self._waiting)

    def look(self) -> ControlTable:
        """Its control table, with how long the oldest has waited."""
        self.control.extra["oldest_ms"] = round((time.monotonic() - self.since) * 1000, 1) if self._waiting else 0
        return self.control


class StepQueues:
    """An operator and the queues in front of it: what a scheduler sees of it.

    Args:
        step: the operator in its place.
        of: gives the same of other operators of the query.
    """

    def __init__(self, step: Step, of: Callable[[Step], StepQueues]) -> None:
        self.step = step
        self.of = of
        self._queues = [PortQueue(self, port) for port in range(max(1, len(step.inputs)))]
        self._rows = self._made = self._seconds = 0.0

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        return shorten(self.step.control.name, _NAME, placeholder=" …")

    @property
    def queues(self) -> Sequence[PortQueue]:
        """Those in front of it, by input."""
        return self._queues

    def queue(self, port: int) -> PortQueue:
        """The one of an input."""
        while len(self._queues) <= port:
            self._queues.append(PortQueue(self, len(self._queues)))
        return self._queues[port]

    @property
    def successor(self) -> StepQueues | None:
        """What takes its rows."""
        return None if self.step.target is None else self.of(self.step.target.step)

    @property
    def empty(self) -> bool:
        """Whether nothing waits."""
        return all(queue.empty for queue in self._queues)

    @property
    def cost(self) -> float | None:
        """Seconds for a row, of late."""
        return self._seconds / self._rows if self._rows else None

    @property
    def selectivity(self) -> float:
        """Rows given for a row, of late."""
        return self._made / self._rows if self._rows else 1.0

    @property
    def most(self) -> float:
        """Rows that take no longer than a step should, or a few more: of a slow user's aggregate it may be one."""
        if self.cost is None:
            return _UNTRIED
        least = 1.0 if self._users else _LEAST // max(self.selectivity, 1.0)
        return max(1.0, least, _STEP // max(self.cost, 1e-12))

    @cached_property
    def _users(self) -> bool:
        """Whether users' code may run in it, of which a row may take any time."""
        return self.step.edge is None or runs_users_code(self.step.edge.plan)

    def measured(self, rows: int, made: int, seconds: float) -> None:
        """It took so many rows, gave so many, and so long."""
        self._rows += rows
        self._made += made
        self._seconds += seconds
        if self._rows > _MEMORY:
            self._rows, self._made, self._seconds = self._rows / 2, self._made / 2, self._seconds / 2


class Queues:
    """All queues of a query, or of a part that queries share.

    Attributes:
        bytes: bytes of rows that wait.
        rows: rows that wait.
        count: messages that wait.
    """

    def __init__(self) -> None:
        self._operators: dict[Step, StepQueues] = {}
        self._number = 0
        self.bytes = 0
        self.rows = 0
        self.count = 0

    def of(self, step: Step) -> StepQueues:
        """An operator's."""
        found = self._operators.get(step)
        if found is None:
            found = self._operators[step] = StepQueues(step, self.of)
        return found

    @property
    def steps(self) -> Collection[Step]:
        """The operators of `operators`."""
        return self._operators.keys()

    @property
    def operators(self) -> list[StepQueues]:
        """Those that something came to, and those before and behind them that were looked at."""
        return list(self._operators.values())

    @property
    def ready(self) -> list[StepQueues]:
        """Those in front of which something waits."""
        return [o for o in self._operators.values() if not o.empty]

    @property
    def controls(self) -> list[ControlTable]:
        """The control tables of all queues."""
        return [queue.look() for operator in self.operators for queue in operator.queues]

    def put(self, target: StepInput, message: Message, feed: Feed | None, since: float) -> None:
        """A message waits in front of an operator."""
        self._number += 1
        waiting = QueuedMessage(message, feed, since, self._number)
        self.of(target.step).queue(target.port).put(waiting)
        self.bytes += waiting.bytes
        self.rows += message.rows if isinstance(message, Batch) else 0
        self.count += 1

    def run(self, turn: NextStep, hand: Callable[[StepInput, QueuedMessage], bool]) -> None:
        """Have an operator take what waits: up to so many rows, and no longer than a step takes.

        Args:
            turn: who, and how many rows.
            hand: gives the operator a message. Returns whether it may be given another at once.
        """
        operator = turn.operator
        assert isinstance(operator, StepQueues)
        control = operator.step.control
        began, made, rows = time.perf_counter(), control.rows_out, 0
        most = min(turn.rows, operator.most)
        while not operator.empty and rows < most:
            if turn.port is None:
                port = min((q.first, i) for i, q in enumerate(operator.queues) if not q.empty)[1]
            else:
                port = turn.port
                if operator.queue(port).empty:
                    break
            queue = operator.queue(port)
            waiting = queue.take(most - rows)
            self.bytes -= waiting.bytes
            self.count -= queue.empty or waiting.number != queue.first
            if isinstance(waiting.message, Batch):
                rows += waiting.message.rows
                self.rows -= waiting.message.rows
            if not hand(StepInput(operator.step, port), waiting) or time.perf_counter() - began > _STEP:
                break
        operator.measured(rows, control.rows_out - made, time.perf_counter() - began)

    def clear(self) -> None:
        """Nothing waits any more."""
        for operator in self.operators:
            for queue in operator.queues:
                queue.clear()
        self.bytes = self.rows = self.count = 0
