"""Slabs: rows by pane come back whole, in the order they came, and the bytes told are those held."""

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream.partials.slabs import Slabs
from tests.tiers import examples

BATCHES = st.lists(
    st.lists(
        st.tuples(st.integers(-20, 20), st.integers(0, 5), st.none() | st.integers(0, 9)), min_size=1, max_size=12
    ),
    max_size=25,
)
Row = tuple[int, int, int, int | None]


def filled(batches: list[list[tuple[int, int, int | None]]], timed: bool) -> tuple[Slabs, list[Row]]:
    """Slabs of some batches, and their rows: pane, slot, time, value."""
    slabs, rows, number = Slabs(timed), list[Row](), 0
    for batch in batches:
        panes, slots = (np.array([r[i] for r in batch], np.int64) for i in (0, 1))
        ts = np.arange(number, number + len(batch))
        number += len(batch)
        slabs.add(panes, slots, ts, [pl.Series([r[2] for r in batch], dtype=pl.Int64)])
        rows += [(p, s, t, v) for (p, s, v), t in zip(batch, ts.tolist(), strict=True)]
        slabs.check()
    return slabs, rows


def held(slabs: Slabs, pane: int, timed: bool) -> list[Row]:
    """The rows of a pane."""
    slab = slabs.of([pane])
    if slab is None:
        return []
    times = slab.times.tolist() if slab.times is not None else [None] * slab.slots.size
    assert (slab.times is not None) == timed
    return [(pane, s, t, v) for s, t, v in zip(slab.slots.tolist(), times, slab.inputs[0].to_list(), strict=True)]


@settings(max_examples=examples(60))
@given(BATCHES, st.booleans())
def test_a_pane_gives_its_rows_in_the_order_they_came(
    batches: list[list[tuple[int, int, int | None]]], timed: bool
) -> None:
    slabs, rows = filled(batches, timed)
    assert slabs.rows == len(rows)
    for pane in range(-20, 21):
        expected = [(p, s, t if timed else None, v) for p, s, t, v in rows if p == pane]
        assert held(slabs, pane, timed) == expected


@settings(max_examples=examples(60))
@given(BATCHES, st.sets(st.integers(0, 5)), st.none() | st.integers(-20, 20))
def test_rows_taken_out_are_those_of_the_groups_asked_for(
    batches: list[list[tuple[int, int, int | None]]], slots: set[int], after: int | None
) -> None:
    slabs, rows = filled(batches, True)
    taken = []
    for pane, slab in slabs.take(lambda s: np.isin(s, list(slots)), after):
        assert slab.times is not None
        taken += [
            (pane, s, t, v)
            for s, t, v in zip(slab.slots.tolist(), slab.times.tolist(), slab.inputs[0].to_list(), strict=True)
        ]
    slabs.check()
    asked = [r for r in rows if r[1] in slots and (after is None or r[0] >= after)]
    assert sorted(taken, key=lambda r: r[2]) == asked
    left = [r for pane in slabs.panes for r in held(slabs, pane, True)]
    assert sorted(left, key=lambda r: r[2]) == [r for r in rows if r not in asked]


def test_dropped_panes_give_the_groups_of_their_rows_and_their_bytes_back() -> None:
    slabs, _ = filled([[(0, 3, 1), (1, 4, 2), (0, 3, None)]], False)
    before = slabs.bytes
    assert sorted(slabs.drop([0]).tolist()) == [3, 3]
    slabs.check()
    assert 0 < slabs.bytes < before
    slabs.drop([1])
    assert slabs.bytes == slabs.rows == 0


def test_renumbered_groups_keep_their_rows() -> None:
    slabs, _ = filled([[(0, 3, 1), (0, 1, 2)]], False)
    slabs.renumber(np.array([-1, 0, -1, 1]))
    slab = slabs.of([0])
    assert slab is not None
    assert slab.slots.tolist() == [1, 0]
