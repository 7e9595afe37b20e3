"""Which series has which colour. The same in every view of a query, and for as long as the series is on screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

PALETTE: Final = (
    "#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
)  # fmt: skip
"""Petroff, 'Accessible Color Sequences for Data Visualization' (2021): ten colours told apart with any colour vision."""
OTHERS: Final = "#9a9a9a"
"""All series beyond the tenth."""


class Colours:
    """Slots of the palette and the series that hold them.

    A series keeps its slot while it has rows on screen; new ones take free slots, the largest first. One object per query
    is shared by all its views, or two views of one query would disagree.
    """

    def __init__(self) -> None:
        self._slots: dict[str, int] = {}

    def assign(self, weights: dict[str, float]) -> dict[str, int]:
        """The slot of each series that gets one.

        Args:
            weights: every series on screen and how prominent it is.

        Returns:
            Slot numbers by series, at most `len(PALETTE)`; series not in it are drawn as others.
        """
        self._slots = {name: slot for name, slot in self._slots.items() if name in weights}
        free = [slot for slot in range(len(PALETTE)) if slot not in self._slots.values()]
        newcomers = sorted((n for n in weights if n not in self._slots), key=lambda n: (-weights[n], n))
        self._slots.update(zip(newcomers[: len(free)], free, strict=False))
        return dict(self._slots)


def legend(slots: dict[str, int], series: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """(label, colour) pairs in the order of the slots, and one line for the rest."""
    named = tuple((name, PALETTE[slot]) for name, slot in sorted(slots.items(), key=lambda kv: kv[1]))
    rest = sum(1 for s in series if s not in slots)
    return (*named, (f"{rest} others", OTHERS)) if rest else named
