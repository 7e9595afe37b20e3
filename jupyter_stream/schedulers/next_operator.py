"""Stream Mill's next-operator-selection rules, of which its policies are made (`stream-mill-timestamps`, Basic Execution Model).

After each step, the operator that worked is looked at: *yield* says whether its output waits in front of its successor, *more*
whether something waits in front of itself. The first rule that applies gives the next operator:

- forward: if yield, the successor. Not for the last one, whose output is taken at once.
- encore: if more, itself.
- backtrack: its predecessor, on which the rules are repeated. Of a union or join, the one behind an input that is empty; of
  several, the one furthest behind in time, which is what the others wait for.

Where there is no rule left, or backtracking has come to a source, control goes back to the engine: it serves whatever has come,
from the operator on with what came first. Not for time stamps on demand, which the paper's backtracking has the source make
there: who waits for a source is seen from the source (`engine/demand.py`), under policies that never backtrack as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from jupyter_stream.schedulers.protocol import NextStep, WorkOperator, since, waiting

Rule: TypeAlias = Callable[["Walk", WorkOperator], WorkOperator | None]


class Walk:
    """From operator to operator.

    Args:
        rules: the first that applies counts.
        rows: rows of a step, at most.
    """

    def __init__(self, rules: Sequence[Rule], rows: float) -> None:
        self._rules = rules
        self._rows = rows
        self._at: WorkOperator | None = None

    def next(self, ready: Sequence[WorkOperator]) -> NextStep:
        """By the rules from where it is; from the operator with what came first where they lead nowhere."""
        found = None if self._at is None else self._chosen(self._at)
        self._at = found or min(ready, key=since)
        return NextStep(self._at, self._rows)

    def _chosen(self, operator: WorkOperator) -> WorkOperator | None:
        for rule in self._rules:
            chosen = rule(self, operator)
            if chosen is not None:
                return chosen
        return None

    def again(self, operator: WorkOperator) -> WorkOperator | None:
        """The same rules for another operator."""
        return self._chosen(operator)

    def notes(self, operators: Sequence[WorkOperator]) -> list[str]:
        """Nothing."""
        return []


def forward(_walk: Walk, operator: WorkOperator) -> WorkOperator | None:
    """If yield, the successor."""
    after = operator.successor
    if after is None or all(queue.empty for queue in after.queues if queue.predecessor is operator):
        return None
    return after


def encore(_walk: Walk, operator: WorkOperator) -> WorkOperator | None:
    """If more, itself."""
    return operator if waiting(operator) else None


def backtrack(walk: Walk, operator: WorkOperator) -> WorkOperator | None:
    """What feeds an empty input."""
    behind = min(
        (queue for queue in operator.queues if queue.empty), key=lambda queue: queue.low_watermark, default=None
    )
    if behind is None or behind.predecessor is None:
        return None
    return walk.again(behind.predecessor)
