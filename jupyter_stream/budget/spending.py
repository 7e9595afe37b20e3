"""What a query with a budget may spend: probes for each row, or a share of one core, measured and corrected as it goes.

Operators never read clocks: here is the clock, and they ask how many probes there are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Final, Protocol, runtime_checkable

from jupyter_stream.budget.costs import Cost
from jupyter_stream.budget.promises import Allowance
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.coverage import Coverage
from jupyter_stream.core.messages import Message
from jupyter_stream.flow.steps import Step
from jupyter_stream.plan.preference import Budget

_GUESS: Final = 1_000.0
"""Nanoseconds a probe is taken to cost before any was measured, and a row that is got ready for some."""
_GROWS: Final = 4
"""Probes made at a time are at most so many times as many as before: what many cost is learnt step by step, and"""
_GROW_READY: Final = 2
"""so are rows got ready at a time."""
_WORTH: Final = 4
"""There is no beginning before there is time for so many times what each time costs, however little is done."""
_FULL: Final = 0.9
"""Of what may be saved up: with so much there is nothing to wait for."""
_SAVED: Final = 1_000_000_000
"""Nanoseconds whose share may be saved up: after a long pause a query doesn't take the core for long."""
_FIRST: Final = 64
"""Probes made at a time before it is known what they cost."""
_LEAST: Final = 256
_MOST: Final = 1 << 20
"""Probes made at a time of what is left, whatever the weight: more than nothing, and no long pause."""


@runtime_checkable
class Budgeted(Protocol):
    """An operator that puts work off. Reads `probes_per_row` and `rest_probes` of its control table's settings.

    Attributes:
        allowance: says what may be done now, where that is not a matter of rows; None where it is.
    """

    allowance: Allowance | None
    control: ControlTable

    @property
    def due(self) -> Sequence[int]:
        """Rows of the slots that wait to be got ready for probes, oldest first."""

    @property
    def left(self) -> int:
        """Probes that wait."""

    @property
    def probes(self) -> int:
        """Probes made."""

    @property
    def coverage(self) -> Coverage:
        """The share of the exact answer given so far."""

    def take_up(self, probes: int) -> Iterator[Message]:
        """Make some of the probes that wait."""


class Spending:
    """The budget of one query, spent by one of its operators.

    Args:
        step: where the operator stands.
        operator: the operator itself.
        budget: what it may spend.
        weight: its share of the time left, against other queries'.
        replays: whether its input is a replay as fast as can be. All of the time is then the query's own, and the share is that
            of the operator in it; otherwise all that the query does is paid for.
        clock: nanoseconds that never go back.
        processor: nanoseconds of processor time.
    """

    def __init__(
        self,
        step: Step,
        operator: Budgeted,
        budget: Budget,
        weight: float,
        replays: bool = False,
        clock: Callable[[], int] = time.perf_counter_ns,
        processor: Callable[[], int] = time.process_time_ns,
    ) -> None:
        self.step = step
        self.operator = operator
        self._budget = budget
        self._replays = replays
        self._clock = clock
        self._processor = processor
        self._began: int | None = None
        self._worked = 0
        self._since: int | None = None
        self._probing = Cost(_GUESS)
        self._getting_ready = Cost(_GUESS)
        self._asked = (0, 0)  # when probes were last asked for: processor time, and probes made
        self._began_ready: tuple[int, int] | None = None  # rows are being got ready: processor time, and how many
        self._in_vain = 0  # times that so few probes were allowed that none was made: lookups of many rows take many
        self._due_probes = 0.0  # nanoseconds that probes of these are to get
        self._uncounted: tuple[int, int] | None = None  # the operator's own time, and the processor's, when that began
        self._paid = 0  # nanoseconds spent on a former budget's account
        self._rest = float(operator.control.settings["rest_probes"])
        self.weigh(weight)
        self._hand_over()

    def weigh(self, weight: float) -> None:
        """Another share of the time left from now on."""
        self.operator.control.settings["rest_probes"] = min(_MOST, max(_LEAST, int(self._rest * weight)))

    def allow(self, budget: Budget) -> None:
        """Another budget from now on: what was saved up, or spent too much, is forgotten."""
        self._budget = budget
        self._paid += self.spent
        self._began = None if self._began is None else self._clock()
        self._hand_over()

    def _hand_over(self) -> None:
        """Tell the operator what it has."""
        of_rows = self._budget.kind == "probes"
        self.operator.control.settings["probes_per_row"] = self._budget.amount if of_rows else 0.0
        self.operator.allowance = None if of_rows else self

    def work(self, do: Callable[[], None]) -> None:
        """Do some of the query's work, on its account."""
        if self._began is None:
            self._began = self._clock()
        self._since = self._processor()
        try:
            do()
        finally:
            self._worked += self._processor() - self._since
            self._since = None

    @property
    def spent(self) -> int:
        """Nanoseconds of processor time spent so far on this budget."""
        if not self._replays:
            return self._worked + (0 if self._since is None else self._processor() - self._since) - self._paid
        own, began = self.operator.control.nanoseconds, self._uncounted
        under_way = self._processor() - began[1] if began is not None and began[0] == own else 0
        return own + under_way - self._paid

    @property
    def share(self) -> float:
        """The share of one core spent so far."""
        passed = 0 if self._began is None else self._clock() - self._began
        return self.spent / passed if passed else 0.0

    @property
    def first_come(self) -> float:
        """The share of the answer to be expected of as many probes, had they been made in the order in which rows came."""
        made, left = self.operator.probes, self.operator.left
        return made / (made + left) if left else 1.0

    def idle(self, live: bool) -> int:
        """Probes that may be made now that nothing comes.

        Args:
            live: whether what it reads is live. Of a replay idle time comes when it has ended, so that a budget in probes gives
                the same answers in the same order each time.
        """
        most = int(self.operator.control.settings["rest_probes"])
        if self._budget.kind == "probes":
            return most if live else 0
        if due := self.operator.due:
            return most if self._affords(due) else 0
        return min(most, int(self.probes()))

    def ready(self, rows: Sequence[int]) -> int:
        """How many of the slots that wait, which have so many rows, are got ready now; 0 to wait for time.

        As many as the time left pays for, beside as much time again for their probes.
        """
        many = self._affords(rows)
        self._uncounted = None
        if many:
            count = sum(rows[:many])
            now = self._processor()
            self._uncounted = self.operator.control.nanoseconds, now
            self._began_ready, self._due_probes = (now, count), self._getting_ready.of(count)
        return many

    def _affords(self, rows: Sequence[int]) -> int:
        left, full = self._left(), _FULL * self._saved
        if left <= 0 or not rows:
            return 0
        sums = list(accumulate(rows))
        fixed = _WORTH * 2 * self._getting_ready.line[0]
        if left < min(full, max(fixed, self._ready_costs(sums[0]))):
            return 0
        known = _GROW_READY * self._getting_ready.most
        paid = sum(1 for count in sums if count <= known and self._ready_costs(count) <= left)
        return max(1, paid)

    def _ready_costs(self, rows: int) -> float:
        """What getting rows ready is expected to take, and their probes."""
        ready = self._getting_ready.of(rows)
        return ready + max(ready, self._probing.of(1))

    def probes(self) -> float:
        """Probes that the share of the time passed pays for, beside what was spent; none while too much was.

        Where rows have just been got ready for them, at least as many as take as long as that was expected to take. What that
        spends too much is waited for.
        """
        used = self._processor()
        least = 0.0
        left, full = self._left(), _FULL * self._saved
        if self._began_ready is not None:
            began, rows = self._began_ready
            self._getting_ready.took(rows, used - began)
            self._began_ready, least = None, self._due_probes
        elif left < min(full, _WORTH * self._probing.line[0]):
            return 0.0
        self._asked = used, self.operator.probes
        time_for = max(left, least)
        if time_for <= 0:
            return 0.0
        least = float(_GROWS**self._in_vain)
        many = min(self._probing.within(time_for), max(_FIRST, _GROWS * self._probing.most) * least)
        # Where no more time can be saved up: what seems dear may have been a stall that is over.
        return max(many, least) if left >= full else many

    def made(self) -> None:
        """The probes last asked for are made: now it is known what they cost."""
        used, before = self._asked
        many = self.operator.probes - before
        if many > 0:
            self._in_vain = max(0, self._in_vain - 1)
            self._probing.took(many, self._processor() - used)
            self._asked = self._processor(), self.operator.probes
        elif self.operator.left:
            self._in_vain += 1
        self._uncounted = None

    @property
    def _saved(self) -> float:
        """Nanoseconds that may be saved up."""
        return self._budget.amount * _SAVED

    def _left(self) -> float:
        """Nanoseconds that may be spent now; below 0 where too much was spent."""
        now, spent = self._clock(), self.spent
        if self._began is None:
            self._began = now
        left = self._budget.amount * (now - self._began) - spent
        too_much = left - self._saved
        if too_much > 0:
            self._began += int(too_much / self._budget.amount)
            left -= too_much
        return left


__all__ = ["Budgeted", "Spending"]
