"""The multi-resolution index of a granularity (promising-tuples paper §3.4): sums of zones, to be searched from the top.

Its lowest level are the zones; above them every two are added up, to one root. An item the sum of some zones has none of need
not be looked for in each of them. Sums are made when they are asked for, and made again only where a zone below has changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from jupyter_stream.core.messages import Int64s
from jupyter_stream.summaries.hashing import bucket_of
from jupyter_stream.summaries.protocol import Float64s, Items, Sketch
from jupyter_stream.summaries.zone import Zone

LEAST: Final = 0.5
"""Rows: a sum that has fewer of an item is taken to have none."""


@dataclass(frozen=True, slots=True)
class Node:
    """Some zones next to each other.

    Attributes:
        first: place of the first of them in the granularity.
        count: how many.
        sketch: their sum; of one zone its own.
        below: its halves, or nothing above a single zone.
        versions: of the zones when the sum was made.
    """

    first: int
    count: int
    sketch: Sketch
    below: tuple[Node, ...]
    versions: tuple[tuple[int, int], ...]


class Pyramid:
    """The sums over one granularity."""

    def __init__(self) -> None:
        self._root: Node | None = None
        self._made: dict[tuple[tuple[int, int], ...], Node] = {}

    @property
    def bytes(self) -> int:
        """Bytes of the sums; the zones' own are not counted."""
        return sum(node.sketch.bytes for node in self._made.values())

    def root(self, zones: Sequence[Zone]) -> Node | None:
        """The top of the pyramid over these zones (those of the granularity, oldest first); None over none."""
        before, self._made = self._made, {}
        self._root = self._sum(zones, 0, before) if zones else None
        return self._root

    def estimate(self, zones: Sequence[Zone], items: Items) -> Float64s:
        """Of each item in each zone, about how many rows; shape (zones, items). 0 where a sum above says so."""
        found = np.zeros((len(zones), items.size))
        root = self.root(zones)
        if root is not None and items.size:
            self._descend(root, bucket_of(items, root.sketch.cells), items, np.arange(items.size), found)
        return found

    def forget(self) -> None:
        """Give the sums' memory back."""
        self._root, self._made = None, {}

    def _sum(self, zones: Sequence[Zone], first: int, before: dict[tuple[tuple[int, int], ...], Node]) -> Node:
        versions = tuple((z.number, z.version) for z in zones)
        if len(zones) == 1:
            return Node(first, 1, zones[0].sketch, (), versions)
        half = len(zones) // 2
        below = self._sum(zones[:half], first, before), self._sum(zones[half:], first + half, before)
        known = before.get(versions)
        if known is not None:
            sketch = known.sketch
        else:
            sketch = below[0].sketch.copy()
            sketch.add(below[1].sketch)
        node = Node(first, len(zones), sketch, below, versions)
        self._made[versions] = node
        return node

    def _descend(self, node: Node, cells: Int64s, items: Items, places: Int64s, found: Float64s) -> None:
        many = node.sketch.estimate(cells, items)
        if not node.below:
            found[node.first, places] = many
            return
        there = many >= LEAST
        if not there.all():
            cells, items, places = cells[there], items[there], places[there]
        if items.size:
            for below in node.below:
                self._descend(below, cells, items, places, found)

    def check(self, zones: Sequence[Zone]) -> None:
        """Raise AssertionError where an invariant is broken."""
        root = self.root(zones)
        for node in self._made.values():
            assert (node.sketch.counts == sum(b.sketch.counts for b in node.below)).all()
        if root is not None:
            assert (root.sketch.counts == sum(z.sketch.counts for z in zones)).all()
