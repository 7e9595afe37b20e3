"""Which series has which colour. The same in every view of a query and on all of a dashboard, while the series is on screen."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Final

PALETTE: Final = (
    "#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
)  # fmt: skip
"""Petroff, 'Accessible Color Sequences for Data Visualization' (2021): ten colours told apart with any colour vision."""
OTHERS: Final = "#9a9a9a"
"""All series beyond the tenth."""
NIGHT: Final = {"#bd1f01": "#ef3434", "#832db6": "#a45cf5"}
"""What stands for the palette's red and purple on dark pages, where those can't be read."""
_REMEMBERED: Final = 1000
"""Values of a column whose colours are remembered while they are on no screen."""


class Colours:
    """Slots of the palette and the series that hold them, for each column whose values are series.

    A series keeps its slot while it has rows on screen; new ones take free slots, the largest first. One object per query
    is shared by all its views, or two views of one query would disagree. The queries of a notebook have theirs joined: equal
    values of equal columns have one colour in all charts, and others another, as far as ten colours go; a value that comes
    back has the colour it had.
    """

    def __init__(self) -> None:
        self._slots: dict[str | None, dict[str, int]] = {}
        self._together: weakref.WeakSet[Colours] = weakref.WeakSet((self,))
        self._beside: weakref.WeakSet[Colours] = weakref.WeakSet((self,))
        self._had: dict[tuple[str, str], int] = {}  # by column and value; one for all that are joined

    def join(self, other: Colours) -> None:
        """Agree with another query's colours from now on, which stay as they are."""
        if other in self._together:
            return
        for each in self._together:
            each._slots.clear()  # chosen anew, in agreement, with the next picture
        other._together |= self._together
        for each in self._together:
            each._together, each._had = other._together, other._had

    def share_page_with(self, other: Colours) -> None:
        """Be on a page with another query's: theirs are told apart before those of others in the notebook."""
        other._beside |= self._beside
        for each in list(other._beside):
            each._beside = other._beside

    def assign(self, weights: dict[str, float], column: str | None = None) -> dict[str, int]:
        """The slot of each series that gets one.

        Args:
            weights: every series on screen and how prominent it is.
            column: whose values they are; None for series that are columns themselves, which are every query's own.

        Returns:
            Slot numbers by series, at most `len(PALETTE)`; series not in it are drawn as others.
        """
        slots = {name: slot for name, slot in self._slots.get(column, {}).items() if name in weights}
        theirs = [
            each._slots.get(column, {}) for each in list(self._together) if each is not self and column is not None
        ]
        taken = {slot for each in theirs for slot in each.values()}
        for name in sorted((n for n in weights if n not in slots), key=lambda n: (-weights[n], n)):
            free = [slot for slot in range(len(PALETTE)) if slot not in slots.values()]
            if not free:
                break
            same = [each[name] for each in theirs if name in each]
            had = None if column is None else self._had.get((column, name))
            if had is not None and had not in taken:
                same.append(had)
            unused = [slot for slot in free if slot not in taken]
            fresh = [
                slot for slot in unused if slot not in {s for (of, _), s in list(self._had.items()) if of == column}
            ]
            near = {s for each in list(self._beside) for s in each._slots.get(column, {}).values()}
            apart = [slot for slot in free if slot not in near]
            slots[name] = next((slot for slot in same if slot in free), (fresh or unused or apart or free)[0])
        self._slots[column] = slots
        self._remember(column, slots)
        return dict(slots)

    def of_values(self, column: str, values: Sequence[str], sizes: Sequence[float]) -> list[str]:
        """The colour of each of these values of a column, the one it has as a series; the larger ones get one first."""
        weights: dict[str, float] = {}
        for value, size in zip(values, sizes, strict=True):
            weights[value] = weights.get(value, 0.0) + abs(size)
        slots = self.assign(weights, column)
        return [PALETTE[slots[value]] if value in slots else OTHERS for value in values]

    def _remember(self, column: str | None, slots: dict[str, int]) -> None:
        if column is None:
            return
        for name, slot in slots.items():
            self._had[column, name] = self._had.pop((column, name), slot)
        while len(self._had) > _REMEMBERED:
            del self._had[next(iter(self._had))]


def legend(slots: dict[str, int], series: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """(label, colour) pairs in the order of the slots, and one line for the rest."""
    named = tuple((name, PALETTE[slot]) for name, slot in sorted(slots.items(), key=lambda kv: kv[1]))
    rest = sum(1 for s in series if s not in slots)
    return (*named, (f"{rest} others", OTHERS)) if rest else named
