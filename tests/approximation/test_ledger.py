"""The share of an extent's rows that is said is the share that was looked at, for any window, order and batching."""

from __future__ import annotations

import numpy as np
import pytest

from jupyter_stream.approximation.ledger import ExtentLedger
from jupyter_stream.windows.time import TimeWindow

WINDOWS = (
    TimeWindow(10, 10),
    TimeWindow(30, 10),
    TimeWindow(7, 5),
    TimeWindow(3, 10),
    TimeWindow(20, 6, origin=4),
    TimeWindow(None, 10),
)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("seed", range(5))
def test_shares_are_those_of_brute_force(window: TimeWindow, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ts = rng.integers(-50, 250, 400)
    kept = rng.random(400) < 0.4
    kept[ts < 20] = True
    ledger, cuts = ExtentLedger(window), np.sort(rng.integers(0, 400, 5))
    for some, which in zip(np.split(ts, cuts), np.split(kept, cuts), strict=True):
        ledger.note(some, None if which.all() else which)
    ends = window.ends(np.arange(-3, 20))
    ledger.forget(int(ends[0]) - 1)  # the first of them is still to come
    starts = ends - (window.range or 10**6)
    held = [(s <= ts) & (ts < e) for s, e in zip(starts, ends, strict=True)]
    expected = [kept[h].sum() / h.sum() if h.any() else 1.0 for h in held]
    assert ledger.shares(ends).tolist() == expected


def test_what_no_extent_to_come_holds_is_forgotten() -> None:
    ledger = ExtentLedger(TimeWindow(30, 10))
    ledger.note(np.arange(100_000), None)
    before = ledger.bytes
    ledger.forget(99_990)
    assert before > 200_000 and ledger.bytes < 200
    assert ledger.shares(np.array([100_000])).tolist() == [1.0]


def test_the_rate_is_that_of_now() -> None:
    ledger = ExtentLedger(TimeWindow(20, 10))
    assert ledger.rate == 0.0
    ledger.note(np.arange(0, 100), None)
    assert ledger.rate == 1.0
    ledger.note(np.repeat(np.arange(100, 105), 7), None)  # half a pane, seven times as fast
    assert ledger.rate == 7.0
