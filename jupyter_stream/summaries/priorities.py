"""A priority structure of many entries, pushed and taken as arrays: what a query has still to look at, most promising first.

Entries come in runs, each about one zone and sorted once; a sorted list holds the runs by their best entry. Freshness fades
by the zone's granularity: a run has one factor, so that a zone that gets old moves all its entries at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sortedcontainers import SortedKeyList

from jupyter_stream.core.messages import Int64s
from jupyter_stream.summaries.protocol import Float64s

_RUNS: Final = 8
"""Runs of one zone before they are merged."""

Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Taken:
    """Entries taken, most promising first.

    Attributes:
        zone: of each entry, shape (n,).
        score: its score with the factor of its zone, shape (n,).
        cost: what it costs, shape (n,).
        columns: the columns it was pushed with, each of shape (n,).
    """

    zone: Int64s
    score: Float64s
    cost: Float64s
    columns: Columns

    def __len__(self) -> int:
        return int(self.score.size)


class _Run:
    """Entries of one zone, best first; `at` is the first one left."""

    __slots__ = ("at", "columns", "cost", "factor", "number", "score", "zone")

    def __init__(
        self, number: int, zone: int, factor: float, score: Float64s, cost: Float64s, columns: Columns
    ) -> None:
        order = np.argsort(-score, kind="stable")
        self.number = number
        self.zone = zone
        self.factor = factor
        self.score: Float64s = score[order]
        self.cost: Float64s = cost[order]
        self.columns = {name: column[order] for name, column in columns.items()}
        self.at = 0

    @property
    def left(self) -> int:
        return int(self.score.size) - self.at

    @property
    def best(self) -> float:
        return float(self.score[self.at]) * self.factor

    @property
    def bytes(self) -> int:
        return int(self.score.nbytes + self.cost.nbytes + sum(c.nbytes for c in self.columns.values()))


class Priorities:
    """Entries by score, the highest first; equal ones in the order they were pushed."""

    def __init__(self) -> None:
        self._runs = SortedKeyList(key=lambda run: (-run.best, run.number))
        self._pushed = 0

    def __len__(self) -> int:
        """Entries left."""
        return sum(run.left for run in self._runs)

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return sum(run.bytes for run in self._runs)

    @property
    def zones(self) -> set[int]:
        """The zones entries are left of."""
        return {run.zone for run in self._runs}

    def push(self, zone: int, factor: float, score: Float64s, columns: Columns, cost: Float64s | None = None) -> None:
        """Add entries.

        Args:
            zone: the zone all of them are about.
            factor: how fresh it is: all scores are multiplied by it.
            score: of each entry, not below 0, shape (n,).
            columns: what the entry says; the same names at every push, each of shape (n,).
            cost: of each entry, above 0; 1 unless given.
        """
        if score.size:
            self._add(zone, factor, score, np.ones(score.size) if cost is None else cost, columns)
            self._merge(zone)

    def take(self, budget: float) -> Taken | None:
        """The best entries whose costs together stay within the budget, or None where that is none at all. They are gone then."""
        parts: list[tuple[_Run, int]] = []  # runs and how many of their entries might be taken
        bound, spent = np.inf, 0.0
        for run in self._runs:
            # once the budget is spent by entries better than any of this run's, it has nothing to add
            if spent > budget and run.best < bound:
                break
            within = int(np.searchsorted(np.cumsum(run.cost[run.at :]), budget, "right"))
            many = min(run.left, within + 1)
            parts.append((run, many))
            spent += float(run.cost[run.at : run.at + many].sum())
            bound = min(bound, float(run.score[run.at + many - 1]) * run.factor)
        if not parts:
            return None
        score = np.concatenate([r.score[r.at : r.at + n] * r.factor for r, n in parts])
        cost = np.concatenate([r.cost[r.at : r.at + n] for r, n in parts])
        whose = np.repeat(np.arange(len(parts)), [n for _, n in parts])
        order = np.lexsort((np.array([r.number for r, _ in parts])[whose], -score))
        chosen = order[: int(np.searchsorted(np.cumsum(cost[order]), budget, "right"))]
        if not chosen.size:
            return None
        columns = {
            name: np.concatenate([r.columns[name][r.at : r.at + n] for r, n in parts])[chosen]
            for name in parts[0][0].columns
        }
        zone = np.array([r.zone for r, _ in parts])[whose[chosen]]
        for (run, _), gone in zip(parts, np.bincount(whose[chosen], minlength=len(parts)).tolist(), strict=True):
            if gone:
                self._runs.remove(run)
                run.at += gone
                if run.left:
                    self._runs.add(run)
        return Taken(zone, score[chosen], cost[chosen], columns)

    def fade(self, factor_of: Callable[[int], float | None]) -> int:
        """Give every zone its factor by now; None where it is no more: its entries are dropped. Returns how many."""
        dropped = 0
        for run in list(self._runs):
            factor = factor_of(run.zone)
            if factor == run.factor:
                continue
            self._runs.remove(run)
            if factor is None:
                dropped += run.left
            else:
                run.factor = factor
                self._runs.add(run)
        return dropped

    def _add(self, zone: int, factor: float, score: Float64s, cost: Float64s, columns: Columns) -> None:
        self._runs.add(_Run(self._pushed, zone, factor, score, cost, columns))
        self._pushed += 1

    def _merge(self, zone: int) -> None:
        """Make the runs of a zone one where they have become many, in the order they were pushed."""
        runs = sorted((r for r in self._runs if r.zone == zone), key=lambda r: r.number)
        if len(runs) <= _RUNS:
            return
        for run in runs:
            self._runs.remove(run)
        self._add(
            zone,
            runs[-1].factor,
            np.concatenate([r.score[r.at :] for r in runs]),
            np.concatenate([r.cost[r.at :] for r in runs]),
            {name: np.concatenate([r.columns[name][r.at :] for r in runs]) for name in runs[0].columns},
        )

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        for run in self._runs:
            assert run.left > 0 and (run.cost > 0).all()
            assert (np.diff(run.score) <= 0).all()
        best = [run.best for run in self._runs]
        assert best == sorted(best, reverse=True)
