"""A priority structure of many entries, pushed and taken as arrays: what a query has still to look at, most promising first.

Entries come in runs, each sorted once; a sorted list holds the runs by their best entry. Runs of about one size are merged, so
that there are few of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sortedcontainers import SortedKeyList

from jupyter_stream.summaries.protocol import Float64s

_RUNS: Final = 12
"""Runs before half of them, the smallest, are merged."""

Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class TakenEntries:
    """Entries taken, most promising first.

    Attributes:
        score: of each entry, shape (n,).
        cost: what it costs, shape (n,).
        columns: the columns it was pushed with, each of shape (n,).
    """

    score: Float64s
    cost: Float64s
    columns: Columns

    def __len__(self) -> int:
        return int(self.score.size)

    def only(self, kept: NDArray[np.bool_]) -> TakenEntries:
        """Some of them."""
        return TakenEntries(self.score[kept], self.cost[kept], {name: c[kept] for name, c in self.columns.items()})


class _SortedEntries:
    """Entries, best first; `at` is the first one left."""

    __slots__ = ("at", "columns", "cost", "number", "score", "spent")

    def __init__(self, number: int, score: Float64s, cost: Float64s, columns: Columns) -> None:
        order = np.argsort(-score, kind="stable")
        self.number = number
        self.score: Float64s = score[order]
        self.cost: Float64s = cost[order]
        self.spent: Float64s = np.concatenate([[0.0], np.cumsum(self.cost)])
        """What all entries before each cost, and all together."""
        self.columns = {name: column[order] for name, column in columns.items()}
        self.at = 0

    @property
    def left(self) -> int:
        return int(self.score.size) - self.at

    @property
    def best(self) -> float:
        return float(self.score[self.at])

    @property
    def bytes(self) -> int:
        own = self.score.nbytes + self.cost.nbytes + self.spent.nbytes
        return int(own + sum(c.nbytes for c in self.columns.values()))

    def within(self, budget: float) -> int:
        """How many of the entries left a budget might pay for, and one more where there is one."""
        reached = int(np.searchsorted(self.spent, self.spent[self.at] + budget, "right"))
        return min(self.left, reached - self.at)

    def cost_of(self, many: int) -> float:
        """What the first of those left cost."""
        return float(self.spent[self.at + many] - self.spent[self.at])


class Priorities:
    """Entries by score, the highest first; equal ones in the order they were pushed, as long as their runs are few."""

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

    def push(self, score: Float64s, columns: Columns, cost: Float64s | None = None) -> None:
        """Add entries.

        Args:
            score: of each entry, shape (n,).
            columns: what the entry says; the same names at every push, each of shape (n,).
            cost: of each entry, above 0; 1 unless given.
        """
        if score.size:
            self._runs.add(_SortedEntries(self._pushed, score, np.ones(score.size) if cost is None else cost, columns))
            self._pushed += 1
            if len(self._runs) > _RUNS:
                self._merge()

    def take(self, budget: float) -> TakenEntries | None:
        """The best entries whose costs together stay within the budget, or None where that is none at all. They are gone then."""
        parts: list[tuple[_SortedEntries, int]] = []  # runs and how many of their entries might be taken
        bound, spent = np.inf, 0.0
        for run in self._runs:
            # once the budget is spent by entries better than any of this run's, it has nothing to add
            if spent > budget and run.best < bound:
                break
            many = run.within(budget)
            parts.append((run, many))
            spent += run.cost_of(many)
            bound = min(bound, float(run.score[run.at + many - 1]))
        if not parts:
            return None
        score = np.concatenate([r.score[r.at : r.at + n] for r, n in parts])
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
        for (run, _), gone in zip(parts, np.bincount(whose[chosen], minlength=len(parts)).tolist(), strict=True):
            if gone:
                self._runs.remove(run)
                run.at += gone
                if run.left:
                    self._runs.add(run)
        return TakenEntries(score[chosen], cost[chosen], columns)

    def _merge(self) -> None:
        """Make the smaller half of the runs one, in the order they were pushed: an entry is moved a logarithm of times."""
        few = sorted(sorted(self._runs, key=lambda r: r.left)[: _RUNS // 2], key=lambda r: r.number)
        for run in few:
            self._runs.remove(run)
        score, cost = (np.concatenate([getattr(r, name)[r.at :] for r in few]) for name in ("score", "cost"))
        columns = {name: np.concatenate([r.columns[name][r.at :] for r in few]) for name in few[0].columns}
        self._runs.add(_SortedEntries(few[-1].number, score, cost, columns))

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        for run in self._runs:
            assert run.left > 0 and (run.cost > 0).all()
            assert (np.diff(run.score) <= 0).all()
        best = [run.best for run in self._runs]
        assert best == sorted(best, reverse=True)
