"""What a query with a budget may spend: probes for each row, or a share of one core, measured and corrected as it goes.

Operators never read clocks: here is the clock, and they ask how many probes there are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final, Protocol, runtime_checkable

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.coverage import Coverage
from jupyter_stream.core.messages import Message
from jupyter_stream.operators.promises import Allowance
from jupyter_stream.operators.steps import Step
from jupyter_stream.plan.preference import Budget

_GUESS: Final = 1_000.0
"""Nanoseconds a probe is taken to cost before any was measured."""
_NEWEST: Final = 0.3
"""How much the newest measurement of a probe's cost counts."""
_SAVED: Final = 1_000_000_000
"""Nanoseconds whose share may be saved up: after a long pause a query doesn't take the core for long."""
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
        self._cost: float | None = None
        self._asked = (0, 0)  # when probes were last asked for: processor time, and probes made
        self._got_ready: int | None = None
        self._ready_took = 0
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
        if self._replays:
            return self.operator.control.nanoseconds - self._paid
        return self._worked + (0 if self._since is None else self._processor() - self._since) - self._paid

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
        return min(most, int(self.probes()))

    def pays(self) -> bool:
        """Whether there is the time it took to get rows ready the last time."""
        left = self._left()
        pays = left > 0 and left >= min(self._ready_took, self._budget.amount * _SAVED / 2)
        if pays:
            self._got_ready = self._processor()
        return pays

    def probes(self) -> float:
        """Probes that the share of the time passed pays for, beside what was spent; none while too much was.

        Where rows have just been got ready for them, at least as many as take as long. What that spends too much is waited for.
        """
        used = self._processor()
        least = 0.0
        if self._got_ready is not None:
            self._ready_took, self._got_ready = used - self._got_ready, None
            least = float(self._ready_took)
        self._asked = used, self.operator.probes
        left = max(self._left(), least)
        # Some at least while there is any time: what each time costs, however few are made, would make few seem dear for ever.
        return max(float(_LEAST), left / max(self._cost or _GUESS, 1.0)) if left > 0 else 0.0

    def made(self) -> None:
        """The probes last asked for are made: now it is known what one costs."""
        used, before = self._asked
        many = self.operator.probes - before
        if many > 0:
            measured = (self._processor() - used) / many
            self._cost = measured if self._cost is None else self._cost + _NEWEST * (measured - self._cost)
            self._asked = self._processor(), self.operator.probes

    def _left(self) -> float:
        """Nanoseconds that may be spent now; below 0 where too much was spent."""
        now, spent = self._clock(), self.spent
        if self._began is None:
            self._began = now
        left = self._budget.amount * (now - self._began) - spent
        too_much = left - self._budget.amount * _SAVED
        if too_much > 0:
            self._began += int(too_much / self._budget.amount)
            left -= too_much
        return left


__all__ = ["Budgeted", "Spending"]
