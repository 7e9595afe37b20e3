"""How a row's size falls on its way through operators, and the lower envelope of that.

The progress chart of a chain begins at (0, 1). Each operator leads to a point: the time spent on the row so far, and what is
left of it. The lower envelope goes from a point to the later point with the steepest way down, and on from there: its segments
tell which operators are worth running together. Roughly `stream-manager` paper §4.2; in full: Babcock and others, "Chain:
Operator Scheduling for Memory Minimization in Data Stream Systems", SIGMOD 2003.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_UNKNOWN = 1e-6
"""Seconds for a row, of an operator that has not worked yet."""


@dataclass(frozen=True, slots=True)
class Descent:
    """Operators of a chain that belong together.

    Attributes:
        first: the first of them, by its place in the chain.
        last: the last of them.
        slope: rows that they free per second.
    """

    first: int
    last: int
    slope: float


def chart(costs: Sequence[float | None], selectivities: Sequence[float]) -> list[tuple[float, float]]:
    """The progress chart: (seconds, rows left) before the first operator and after each; nothing is left after the last.

    Args:
        costs: seconds for a row, of each operator.
        selectivities: rows given for a row, of each.
    """
    points = [(0.0, 1.0)]
    for i, (cost, share) in enumerate(zip(costs, selectivities, strict=True)):
        seconds, size = points[-1]
        left = 0.0 if i == len(costs) - 1 else size * share
        points.append((seconds + size * (_UNKNOWN if cost is None else cost), left))
    return points


def envelope(points: Sequence[tuple[float, float]]) -> list[Descent]:
    """The segments of the lower envelope, from the beginning of the chain to its end."""
    found: list[Descent] = []
    at = 0
    while at < len(points) - 1:
        seconds, size = points[at]
        slopes = [(size - left) / max(then - seconds, 1e-12) for then, left in points[at + 1 :]]
        steepest = max(range(len(slopes)), key=lambda i: (slopes[i], i))  # of equal ones, all that lie on the line
        found.append(Descent(at, at + steepest, slopes[steepest]))
        at += steepest + 1
    return found
