"""The multi-resolution index of a granularity (promising-tuples paper §3.4): sums of zones, to be searched from the top.

Its lowest level are the zones; above them every four are added up, to one root. An item the sum of some zones has none of need
not be looked for in each of them. Sums are made when they are asked for, and made again only where a zone below has changed;
they are asked where they stand for at least four zones, since asking one costs as much as asking a zone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np

from jupyter_stream.core.messages import Int64s
from jupyter_stream.summaries.protocol import Float64s, Sketch
from jupyter_stream.summaries.zone import Zone

ARITY: Final = 4
"""Nodes below one, and the fewest zones whose sum is worth asking."""
LEAST: Final = 0.5
"""Rows: a sum that has fewer of an item is taken to have none."""


Versions: TypeAlias = tuple[tuple[int, int], ...]
"""Of zones their numbers, and how often each has changed."""


class Pyramid:
    """The sums over one granularity.

    A node is some zones next to each other: those from `first` to `end` of the granularity.
    """

    def __init__(self) -> None:
        self._sums: dict[Versions, Sketch] = {}
        self._of: Versions = ()

    @property
    def bytes(self) -> int:
        """Bytes of the sums; the zones' own are not counted."""
        return sum(sketch.bytes for sketch in self._sums.values())

    def estimate(self, zones: Sequence[Zone], places: Int64s, begin: int, end: int) -> Float64s:
        """Of each item in zones `begin` to `end` (exclusive) of these, about how many rows; 0 where a sum above says so.

        Args:
            zones: all of the granularity, oldest first.
            places: the items' `Sketch.places`, shape (k, items).
            begin: the first zone asked about.
            end: one after the last.

        Returns:
            Shape (end - begin, items).
        """
        self._forget(zones)
        found = np.zeros((end - begin, places.shape[1]))
        todo: list[tuple[int, int, Int64s, Int64s | None]] = [(0, len(zones), places, None)]
        while todo:
            first, last, places, which = todo.pop()
            if first >= end or last <= begin or not places.shape[1]:
                continue
            if last - first == 1:
                found[first - begin, slice(None) if which is None else which] = zones[first].sketch.count_at(places)
                continue
            if min(last, end) - max(first, begin) >= ARITY:
                there = np.flatnonzero(self.sum(zones, first, last).count_at(places) >= LEAST)
                if there.size < places.shape[1]:
                    places, which = places[:, there], there if which is None else which[there]
            todo += [(one, two, places, which) for one, two in _below(first, last)]
        return found

    def total(self, zones: Sequence[Zone], places: Int64s, begin: int, end: int) -> Float64s:
        """Of each item in zones `begin` to `end` together, about how many rows: from the fewest sums that are of these alone."""
        self._forget(zones)
        found: Float64s = np.zeros(places.shape[1])
        todo = [(0, len(zones))]
        while todo:
            first, last = todo.pop()
            if begin <= first and last <= end:
                found += self.sum(zones, first, last).count_at(places)
            elif first < end and last > begin:
                todo += _below(first, last)
        return found

    def sum(self, zones: Sequence[Zone], first: int, end: int) -> Sketch:
        """The sum over a node; of a single zone its own sketch."""
        if end - first == 1:
            return zones[first].sketch
        versions = _versions(zones[first:end])
        if versions not in self._sums:
            one, *more = [self.sum(zones, *part) for part in _below(first, end)]
            made = one.copy()
            for other in more:
                made.add(other)
            self._sums[versions] = made
        return self._sums[versions]

    def forget(self) -> None:
        """Give the sums' memory back."""
        self._sums, self._of = {}, ()

    def _forget(self, zones: Sequence[Zone]) -> None:
        """Give the memory of sums back whose zones have changed."""
        now = _versions(zones)
        if now != self._of:
            alive = set(now)
            self._sums = {versions: made for versions, made in self._sums.items() if alive.issuperset(versions)}
            self._of = now

    def check(self, zones: Sequence[Zone]) -> None:
        """Raise AssertionError where an invariant is broken."""
        self._forget(zones)
        by_number = {z.number: z for z in zones}
        for versions, made in self._sums.items():
            assert (made.counts == sum(by_number[number].sketch.counts for number, _ in versions)).all()
        if zones:
            assert (self.sum(zones, 0, len(zones)).counts == sum(z.sketch.counts for z in zones)).all()


def _versions(zones: Sequence[Zone]) -> Versions:
    return tuple([(z.number, z.version) for z in zones])


def _below(first: int, end: int) -> list[tuple[int, int]]:
    """The nodes below one."""
    step = -(-(end - first) // ARITY)
    return [(at, min(at + step, end)) for at in range(first, end, step)]
