"""Which extents hold rows is found in a few steps, however many there are: against all extents one by one."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from types import SimpleNamespace
from typing import cast

import pytest
from sortedcontainers import SortedDict

from jupyter_stream.windowed.window_aggregate import WindowAggregate
from jupyter_stream.windows.cumulate import CumulateWindow
from jupyter_stream.windows.time import TimeWindow


def window(of: Random) -> TimeWindow:
    slide, origin = of.randint(1, 4), of.randint(-3, 3)
    if of.random() < 0.3:
        return CumulateWindow.of(slide * of.randint(1, 6), slide, origin, None, False)
    return TimeWindow(of.choice([slide * of.randint(1, 6), of.randint(1, 20)]), slide, origin)


def full(of: TimeWindow, panes: Iterable[int], after: int | None, k: int) -> list[int]:
    first = min((of.first_extent(p) for p in panes), default=k + 1) if after is None else after + 1
    ends = of.panes_per_slide
    found = [(e, of.first_pane(e), ends * e) for e in range(first, k + 1)]
    return [e for e, low, end in found if any((low is None or low <= p) and p < end for p in panes)]


@pytest.mark.parametrize("seed", range(5))
def test_they_are_those_that_hold_a_pane_with_rows(seed: int) -> None:
    of = Random(seed)
    for _ in range(200):
        each = window(of)
        after, k = of.choice([None, of.randint(-15, 25)]), of.randint(-10, 40)
        panes = {of.randint(-20, 30) for _ in range(of.randint(0, 12))}
        held = {p for p in panes if after is None or (last := each.last_extent(p)) is None or last > after}
        occupied = SortedDict.fromkeys(held)

        def free(gone: list[int], of: SortedDict = occupied) -> None:
            for pane in gone:
                del of[pane]

        groups = SimpleNamespace(occupied=occupied, free=free)
        aggregate = cast(WindowAggregate, SimpleNamespace(_window=each, _groups=groups, _last_full=None))
        found = WindowAggregate._stretches_until(aggregate, k, after)
        assert [extent for stretch in found for extent in stretch] == full(each, held, after, k)


def test_of_many_slides_a_stretch_is_about_a_range() -> None:
    groups = SimpleNamespace(occupied=SortedDict.fromkeys(range(600)))
    aggregate = cast(WindowAggregate, SimpleNamespace(_window=TimeWindow(60, 1), _groups=groups, _last_full=None))
    found = list(WindowAggregate._stretches_until(aggregate, 500, 100))
    assert [extent for stretch in found for extent in stretch] == list(range(101, 501)) and len(found) <= 8
