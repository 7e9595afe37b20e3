"""Drawn plans of two paths into a union, on bursts: the peak of what waits under a policy, and a peak none can be below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from jupyter_stream.schedulers import scheduler
from jupyter_stream.schedulers.chain import segments
from jupyter_stream.schedulers.envelope import chart
from tests.schedulers.virtual import Virtual, line, simulate

GRAIN = 0.1
"""Units of time of a step: rows are many more than batches."""


@dataclass(frozen=True)
class TwoPaths:
    """A plan.

    Attributes:
        paths: of each path the operators' costs and selectivities, from its source on.
        union: the cost of a row in the operator that both lead to, and what it lets through.
        arrivals: of each path, when a batch comes, units of time.
    """

    paths: tuple[tuple[tuple[float, float], ...], ...]
    union: tuple[float, float]
    arrivals: tuple[tuple[int, ...], ...]

    def operators(self) -> list[list[Virtual]]:
        """The same for the simulator: each path, then the union alone."""
        paths = [line(*((f"{i}{j}", *each) for j, each in enumerate(path))) for i, path in enumerate(self.paths)]
        return [*paths, [Virtual("union", *self.union, [path[-1] for path in paths])]]

    def peak(self, policy: str) -> float:
        """The most rows that wait under a policy."""
        *paths, union = self.operators()
        every = [operator for path in (*paths, union) for operator in path]
        came = [(float(at), path[0], 1.0) for path, times in zip(paths, self.arrivals, strict=True) for at in times]
        came.sort(key=lambda each: each[0])
        return simulate(scheduler(policy).order(), every, came, lambda o: GRAIN / (o.cost or 1.0)).peak

    def bound(self) -> float:
        """A peak that no schedule can be below, whatever it knows.

        Each path goes on through the union, and its rows, divided at will, along the lower envelope: nowhere above what is left
        of them. On such charts whoever always works where it is steepest has the least in queues at every moment (Babcock and
        others, SIGMOD 2003).
        """
        *paths, union = self.operators()
        parts: list[tuple[float, int, float, float]] = []  # slope, which path, size, time for all of it
        for number, path in enumerate(paths):
            chain = [*path, *union]
            points = chart([o.cost for o in chain], [o.selectivity for o in chain])
            for segment in segments(chain):
                (began, size), (until, _) = points[segment.first], points[segment.last + 1]
                parts.append((segment.slope, number, size, until - began))
        return _least(sorted(parts, key=lambda part: -part[0]), self.arrivals)


def _least(parts: Sequence[tuple[float, int, float, float]], arrivals: Sequence[Sequence[int]]) -> float:
    """The peak where the steepest part always goes first; parts are (slope, path, size in front of it, time), steepest first."""
    held = [0.0 for _ in parts]
    after = [
        next((j for j in range(i + 1, len(parts)) if parts[j][1] == part[1]), None) for i, part in enumerate(parts)
    ]
    first = [next(i for i, part in enumerate(parts) if part[1] == path) for path in range(len(arrivals))]
    peak = now = 0.0
    for at, path in sorted((at, path) for path, times in enumerate(arrivals) for at in times):
        left = at - now
        while left > 1e-9 and any(n > 1e-9 for n in held):
            i = next(i for i, n in enumerate(held) if n > 1e-9)
            spent = min(left, held[i] * parts[i][3])
            left -= spent
            held[i] -= spent / parts[i][3]
            if (on := after[i]) is not None:
                held[on] += spent / parts[i][3]
        now = at
        held[first[path]] += 1
        peak = max(peak, sum(n * part[2] for n, part in zip(held, parts, strict=True)))
    return peak


def drawn(seed: int) -> TwoPaths:
    """Two or three operators on each path, and two or three bursts on both that leave time to catch up, or most of it."""
    dice = Random(seed)
    paths = tuple(
        tuple(
            (dice.choice((0.5, 1.0, 1.5, 2.0)), dice.choice((0.1, 0.2, 0.4, 0.6, 0.8, 0.95)))
            for _ in range(dice.randint(2, 3))
        )
        for _ in range(2)
    )
    arrivals: list[int] = []
    at = 1
    for _ in range(dice.randint(2, 3)):
        batches = dice.randint(4, 7)
        arrivals += range(at, at + batches)
        at += batches + dice.randint(2, 6) * batches
    return TwoPaths(paths, (dice.choice((1.0, 2.0, 5.0)), 1.0), (tuple(arrivals), tuple(arrivals)))


__all__ = ["GRAIN", "TwoPaths", "drawn"]
