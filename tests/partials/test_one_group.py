"""Rows of one group, of which a batch is in one pane, in two or in many: partials are those of each pane's rows."""

from __future__ import annotations

import numpy as np
import pytest

from jupyter_stream.aggregates import Partial
from jupyter_stream.partials.panes import Panes
from jupyter_stream.windows import TimeWindow

PARTIALS = (
    Partial("count"),
    Partial("sum"),
    Partial("min"),
    Partial("max"),
    Partial("sum", "float"),
    Partial("min", "float"),
    Partial("max", "float"),
)


@pytest.mark.parametrize("rising", [False, True])
@pytest.mark.parametrize("span", [1, 2, 7])
@pytest.mark.parametrize("odd", [0.5, float("nan"), float("inf")])
def test_each_pane_folds_its_own_rows(rising: bool, span: int, odd: float) -> None:
    window = TimeWindow(100, 100)
    panes = Panes(PARTIALS)
    rng = np.random.default_rng(5)
    seen: list[tuple[np.ndarray, np.ndarray]] = []
    for base in (0, 100, 100):
        ts = base + rng.integers(0, 100 * span, 5_000)
        values = np.arange(5_000) if rising else rng.integers(-1_000, 1_000, 5_000)
        seen.append((ts, values))
        floats = values.astype(np.float64)
        floats[4_321] = odd
        cells = panes.cells(ts, None, window)
        for i, partial in enumerate(PARTIALS):
            panes.update(i, cells, floats if partial.kind == "float" else values)
    ts = np.concatenate([t for t, _ in seen])
    values = np.concatenate([v for _, v in seen])
    floats = values.astype(np.float64)
    floats[4_321::5_000] = odd
    for pane, row in panes.rows.items():
        of = window.pane(ts) == pane
        got = [panes.row(i, row)[0] for i in range(len(PARTIALS))]
        assert got[:4] == [of.sum(), values[of].sum(), values[of].min(), values[of].max()]
        expected = [floats[of].sum(), np.fmin.reduce(floats[of]), floats[of].max()]
        assert np.allclose(got[4:], expected, equal_nan=True)


def test_rows_left_out_by_a_condition_are_in_no_pane() -> None:
    window = TimeWindow(100, 100)
    panes = Panes(PARTIALS[:4])
    ts = np.array([10, 150, 20, 160])
    mask = np.array([True, False, False, True])
    cells = panes.cells(ts, None, window).where(mask)
    for i in range(4):
        panes.update(i, cells, np.array([7, 5, 3, 9])[mask])
    assert [int(panes.row(i, panes.rows[0])[0]) for i in range(4)] == [1, 7, 7, 7]
    assert [int(panes.row(i, panes.rows[1])[0]) for i in range(4)] == [1, 9, 9, 9]
