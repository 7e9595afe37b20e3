"""A fair sample: whatever the budget, each value's lookups are spread over the zones and rows they are of."""

from __future__ import annotations

import numpy as np
import pytest

from jupyter_stream.budget.promises import scored

ZONES, ROWS = 5, 40


@pytest.mark.parametrize("budget", [0.1, 0.2, 0.5])
@pytest.mark.parametrize("values", [1, 3])
def test_a_sample_takes_as_much_of_each_zone_and_each_value(budget: float, values: int) -> None:
    size = values * ZONES * ROWS
    groups = np.arange(size, dtype=np.uint64) % np.uint64(values)
    zone = np.arange(size) // (values * ROWS)  # entries stand zone by zone, as lookups do
    ones = np.ones(size)
    for slot in range(20):
        scores = scored(None, ones, ones, groups, slot)
        chosen = np.argsort(-scores, kind="stable")[: int(budget * size)]
        for value in range(values):
            taken = np.bincount(zone[chosen][groups[chosen] == value], minlength=ZONES)
            assert abs(taken - budget * ROWS).max() <= 2 + 0.1 * budget * ROWS, (slot, value, taken)


def test_slots_begin_elsewhere() -> None:
    groups, ones = np.zeros(64, np.uint64), np.ones(64)
    first = {int(np.argmax(scored(None, ones, ones, groups, slot))) for slot in range(30)}
    assert len(first) > 10
