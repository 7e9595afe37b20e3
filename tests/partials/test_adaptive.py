"""AdaptWID's memory: which groups are rows and which partials, and when that changes (window-queries thesis §6.3.2 to §6.3.4)."""

import math

import numpy as np
import polars as pl
import pytest

from jupyter_stream import aggregates
from jupyter_stream.aggregates.protocol import Dense, Partial
from jupyter_stream.partials.adaptive import AdaptiveGroups
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.groups import WindowGroups
from jupyter_stream.partials.memory_condition import MemoryCondition
from jupyter_stream.windows import TimeWindow

SLIDING = TimeWindow(10, 1)
KEYS = [("key", pl.Int64())]
NOBODY = np.empty(0, np.int64)


def total() -> GroupAggregate:
    function = aggregates.find("sum")
    assert function is not None
    return GroupAggregate(function, Dense((Partial("sum"), Partial("count"))), (0,), None, pl.Int64(), "total")


def groups(window: TimeWindow = SLIDING, adapts: bool = True) -> AdaptiveGroups:
    return AdaptiveGroups(window, KEYS, [total()], [pl.Int64()], adapts)


def add(state: AdaptiveGroups | WindowGroups, rows: list[tuple[int, int, int | None]]) -> None:
    """Rows: time, key, value."""
    ts, keys, values = zip(*rows, strict=True)
    columns = [pl.Series("key", keys)], [pl.Series(values, dtype=pl.Int64)]
    state.add(np.array(ts, np.int64), *columns)


def close(state: AdaptiveGroups | WindowGroups, k: int) -> dict[int, int | None]:
    """Answers of extent k by key; it is closed then."""
    state.advance(k)
    slots, (answers,) = state.read(k, NOBODY)
    assert state.slots is not None
    (keys,) = state.slots.gather(slots)
    found = dict(zip(keys.to_list(), answers.to_list(), strict=True))
    state.expire(k + 1)
    list(state.release())
    state.check()
    return found


def states(state: AdaptiveGroups) -> tuple[int, int, int]:
    counts = state.counts()
    return counts["lazy_groups"], counts["eager_groups"], counts["groups_in_transition"]


def test_partials_take_less_above_aggr_times_panes_over_tup() -> None:
    condition = MemoryCondition(partial=16, row=12)
    assert condition.above(12) == 16 * 12 / 12
    assert condition.below(12) < condition.above(12)


def test_partials_that_grow_with_every_row_never_take_less() -> None:
    assert MemoryCondition(partial=8, row=12, spread=12).above(10) == math.inf


def test_a_group_with_few_rows_stays_lazy_and_one_with_many_becomes_eager() -> None:
    state = groups()
    add(state, [(0, 1, 5), *((0, 2, 1) for _ in range(100))])
    assert states(state) == (1, 1, 0)
    assert close(state, 1) == {1: 5, 2: 100}


def test_a_group_that_becomes_sparse_is_in_transition_until_its_partials_have_expired() -> None:
    state = groups()
    add(state, [(0, 2, 1) for _ in range(100)])
    assert close(state, 1) == {2: 100}
    assert states(state) == (0, 1, 0)
    for ts in range(2, 9, 2):
        close(state, ts)
        add(state, [(ts, 2, 10)])
    assert close(state, 10) == {2: 140}  # all hundred are in the extent until it ends at 10
    assert states(state) == (0, 1, 0)
    add(state, [(10, 2, 10)])
    assert close(state, 11) == {2: 50}
    assert states(state) == (0, 0, 1), "few rows are left; the partials of the panes before are waiting"
    add(state, [(11, 2, 1), (12, 2, 1)])
    assert close(state, 12) == {2: 41 + 10}
    assert states(state) == (0, 0, 1), "its new rows are kept beside them"
    assert state.report() > 0
    assert state._slabs.rows == 2
    for k in range(13, 21):
        close(state, k)
    assert states(state) == (1, 0, 0)
    assert close(state, 21) == {2: 2}


def test_groups_near_the_threshold_do_not_go_to_and_fro() -> None:
    state = groups()
    above = math.floor(state._condition.above(state._open_panes))
    add(state, [(0, 1, 1)] * (above + 1))
    assert states(state) == (0, 1, 0)
    close(state, 1)
    fewer = groups()
    add(fewer, [(0, 1, 1)] * (above - 1))
    assert states(fewer) == (1, 0, 0)
    add(state, [(5, 1, 1)])
    for k in range(2, 12):
        close(state, k)
    assert states(state)[1] == 0, "well below the threshold it goes back"


def test_rows_kept_never_become_partials() -> None:
    state = groups(adapts=False)
    add(state, [(0, 2, 1)] * 1000)
    assert states(state) == (1, 0, 0)
    assert close(state, 1) == {2: 1000}


def test_groups_that_hold_nothing_are_forgotten() -> None:
    state = groups(TimeWindow(1, 1))
    for k in range(1, 40):
        add(state, [(k - 1, 1000 * k + i, 1) for i in range(500)])
        close(state, k)
    assert state.live < 3000
    state.report()


@pytest.mark.parametrize("first", [None, 2**62])
def test_nulls_and_sums_near_the_bounds_of_64_bits_are_as_with_partials_alone(first: int | None) -> None:
    adaptive, paned = groups(), WindowGroups(SLIDING, KEYS, [total()])
    batches = [
        [(0, 1, first), (0, 2, 2**61), *((0, 3, 7) for _ in range(50))],
        [(3, 3, None), (3, 2, 2**61 - 1), (4, 1, -(2**62)), (4, 3, -(2**62))],
        [(2, 3, 2**61), (2, 2, None), (5, 1, None)],
    ]
    for batch in batches:
        add(adaptive, batch)
        add(paned, batch)
    for k in range(1, 16):
        assert close(adaptive, k) == close(paned, k)


def test_what_partials_alone_held_is_taken_over_without_loss() -> None:
    paned, other = WindowGroups(SLIDING, KEYS, [total()]), WindowGroups(SLIDING, KEYS, [total()])
    for state in (paned, other):
        add(state, [(t, key, t) for t in range(6) for key in range(t, 40)])
        for k in (1, 2, 3):
            close(state, k)
    adaptive = AdaptiveGroups.taking_over(paned, SLIDING, KEYS, [total()], [pl.Int64()])
    adaptive.check()
    assert states(adaptive) == (0, 40, 0)
    for k in range(4, 17):
        add(adaptive, [(k, 7, 1), (k - 2, 99, 3)])
        add(other, [(k, 7, 1), (k - 2, 99, 3)])
        assert close(adaptive, k) == close(other, k)
