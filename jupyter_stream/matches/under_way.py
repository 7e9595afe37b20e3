"""What is remembered of the partitions of a row pattern beside their rows, by slot: matches under way, and what failed."""

from __future__ import annotations

from jupyter_stream.core.messages import Int64s
from jupyter_stream.matches.search import Attempt


class UnderWay:
    """Matches that wait for rows, and failures of rows that are kept.

    Attributes:
        attempts: the match under way of a partition.
        failed: where its search came to nothing before: states of the automaton at rows.
        told: rows of partitions, by their numbers, whose failure has been told.
        reasons: why a condition fails on a row of a partition.
    """

    def __init__(self) -> None:
        self.attempts: dict[int, Attempt] = {}
        self.failed: dict[int, set[tuple[int, int]]] = {}
        self.told: set[tuple[int, int]] = set()
        self.reasons: dict[tuple[int, int, int], str] = {}

    def clear(self) -> None:
        """Nothing more comes."""
        for held in (self.attempts, self.failed, self.told, self.reasons):
            held.clear()

    def keep(self, first: Int64s) -> None:
        """Rows before these, one number for each slot, are kept no more."""
        if self.told:
            self.told = {(s, n) for s, n in self.told if n >= first[s]}
        if self.reasons:
            self.reasons = {(s, n, c): why for (s, n, c), why in self.reasons.items() if n >= first[s]}

    def renumber(self, new: Int64s) -> None:
        """Partitions have other slots now: the new one of each, -1 for those that are gone."""
        self.attempts = {int(new[s]): attempt for s, attempt in self.attempts.items()}
        self.failed = {int(new[s]): failed for s, failed in self.failed.items()}
        self.told = {(int(new[s]), n) for s, n in self.told if new[s] >= 0}
        self.reasons = {(int(new[s]), n, c): why for (s, n, c), why in self.reasons.items() if new[s] >= 0}


__all__ = ["UnderWay"]
