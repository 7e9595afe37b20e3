"""What a query with a budget may spend: probes for each row, or a share of one core, measured and corrected as it goes.

Operators never read clocks: here is the clock, and they are told how many probes there are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final, Protocol, runtime_checkable

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.coverage import Coverage
from jupyter_stream.core.messages import Message
from jupyter_stream.operators.steps import Step
from jupyter_stream.plan.preference import Budget

_GUESS: Final = 10_000.0
"""Nanoseconds a probe is taken to cost before any was measured."""
_NEWEST: Final = 0.3
"""How much the newest measurement of a probe's cost counts."""
_LEAST: Final = 256
_MOST: Final = 1 << 20
"""Probes made at a time of what is left, whatever the weight: more than nothing, and no long pause."""


@runtime_checkable
class Budgeted(Protocol):
    """An operator that puts work off. Reads `probes_per_row` and `rest_probes` of its control table's settings."""

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
        clock: nanoseconds that never go back.
    """

    def __init__(
        self,
        step: Step,
        operator: Budgeted,
        budget: Budget,
        weight: float,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self.step = step
        self.operator = operator
        self._budget = budget
        self._clock = clock
        self._began: int | None = None
        self._cost = _GUESS
        self._seen = (0, 0)
        settings = operator.control.settings
        settings["rest_probes"] = min(_MOST, max(_LEAST, int(float(settings["rest_probes"]) * weight)))
        if budget.kind == "probes":
            settings["probes_per_row"] = budget.amount

    def before(self, rows: int) -> None:
        """Rows are about to come: say what may be spent on each."""
        if self._budget.kind == "share" and rows:
            self.operator.control.settings["probes_per_row"] = self._allowed() / rows

    def idle(self, live: bool) -> int:
        """Probes that may be made now that nothing comes.

        Args:
            live: whether what it reads is live. Of a replay idle time comes when it has ended, so that a budget in probes gives
                the same answers in the same order each time.
        """
        most = int(self.operator.control.settings["rest_probes"])
        if self._budget.kind == "probes":
            return most if live else 0
        return min(most, int(self._allowed()))

    def _allowed(self) -> float:
        """Probes that the share of the time passed pays for, beside what was spent; none while too much was."""
        now = self._clock()
        if self._began is None:
            self._began = now
        spent, made = self.operator.control.nanoseconds, self.operator.probes
        if made > self._seen[1]:
            measured = (spent - self._seen[0]) / (made - self._seen[1])
            self._cost += _NEWEST * (measured - self._cost) if self._seen[1] else measured - self._cost
            self._seen = (spent, made)
        left = self._budget.amount * (now - self._began) - spent
        return max(0.0, left / max(self._cost, 1.0))


__all__ = ["Budgeted", "Spending"]
