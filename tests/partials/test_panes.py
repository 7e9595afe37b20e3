"""Growth of panes: what was folded in stays, in every row, however many slots there come to be."""

import numpy as np
import pytest

from jupyter_stream.aggregates import Partial
from jupyter_stream.partials.panes import Panes
from jupyter_stream.windows import TimeWindow

SECOND = 1_000_000


@pytest.mark.parametrize("slots", [3, 70_000, 200_000])
def test_growing_keeps_every_cell_and_new_ones_hold_nothing(slots: int) -> None:
    panes = Panes((Partial("count"), Partial("sum"), Partial("max")))
    window = TimeWindow(SECOND, SECOND)
    expected = np.zeros((6, slots), np.int64)
    rng = np.random.default_rng(2)
    known = 1
    for step in range(12):
        known = min(slots, 1 + step * slots // 10)
        panes.fit(known)
        for _ in range(step):
            panes.work_ahead()
        ts = rng.integers(step // 3, step // 2 + 1, 500) * SECOND
        at = rng.integers(0, known, 500)
        cells = panes.cells(ts, at, window)
        panes.update(0, cells, None)
        panes.update(1, cells, at)
        panes.update(2, cells, at)
        np.add.at(expected, (ts // SECOND, at), 1)
        panes.check()
    everything = np.arange(panes.slots)
    for second, row in panes.rows.items():
        counts = expected[second][: panes.slots]
        counts = np.pad(counts, (0, panes.slots - counts.size))
        assert np.array_equal(panes.row(0, row), counts)
        assert np.array_equal(panes.row(1, row), counts * everything)
        assert np.array_equal(panes.row(2, row), np.where(counts > 0, everything, -(2**63)))
    assert len(panes.rows) > 2


def test_a_row_taken_back_is_empty_when_opened_again_though_slots_have_grown_meanwhile() -> None:
    panes = Panes((Partial("count"), Partial("max")))
    window = TimeWindow(SECOND, SECOND)
    panes.fit(70_000)
    for second in range(40):
        panes.fit(70_000 + 5_000 * second)
        at = np.arange(0, panes.slots, 7)
        cells = panes.cells(np.full(at.size, second * SECOND), at, window)
        panes.update(0, cells, None)
        panes.update(1, cells, at)
        row = panes.rows[second]
        assert int(panes.row(0, row).sum()) == at.size
        assert int((panes.row(1, row) >= 0).sum()) == at.size
        panes.free([p for p in panes.rows if p < second])
        panes.check()
