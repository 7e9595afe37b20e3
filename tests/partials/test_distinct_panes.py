"""Distinct values by pane against sets."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.aggregates.count import DistinctValues
from jupyter_stream.aggregates.protocol import SLOT, VALUE
from jupyter_stream.partials.distinct_panes import DistinctPanes
from jupyter_stream.partials.frames import PANE

COUNT = DistinctValues(pl.len().cast(pl.Int64), counts=True)
SUM = DistinctValues(pl.col(VALUE).sum())
rows = st.lists(st.tuples(st.integers(-2, 9), st.integers(0, 3), st.integers(0, 12)), max_size=12)
Held = dict[int, set[tuple[int, int]]]


def expected(held: Held, first: int, end: int, counts: bool) -> dict[int, int]:
    pairs = set().union(*(held.get(p, set()) for p in range(first, end)))
    return {
        g: len({v for h, v in pairs if h == g}) if counts else sum({v for h, v in pairs if h == g})
        for g in {g for g, v in pairs if counts or v}
    }


def answers(panes: DistinctPanes, first: int, end: int) -> dict[int, int]:
    found = panes.finish(first, end)
    return {s: v for s, v in found.select(SLOT, VALUE).rows() if v} if VALUE in found.columns else {}


@given(
    st.booleans(),
    st.booleans(),
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(0, 3), rows, st.booleans()), max_size=15),
)
def test_every_window_has_the_values_of_its_panes(
    counts: bool, grouped: bool, size: int, steps: list[tuple[int, list[tuple[int, int, int]], bool]]
) -> None:
    panes = DistinctPanes(COUNT if counts else SUM, grouped)
    held: Held = {}
    end = 0
    for forward, arriving, swap in steps:
        new = [(max(end - size + 1 + p, end - size), g * grouped, v) for p, g, v in arriving]
        if new:
            panes.update(pl.DataFrame(new, schema=[PANE, SLOT, VALUE], orient="row"))
        for pane, group, value in new:
            held.setdefault(pane, set()).add((group, value))
        ahead = end + 2
        assert answers(panes, ahead - size, ahead) == expected(held, ahead - size, ahead, counts)
        if swap and grouped:
            panes.renumber(pl.Series([3, 2, 1, 0]).to_numpy())
            held = {p: {(3 - g, v) for g, v in pairs} for p, pairs in held.items()}
        if forward:
            end += forward
            panes.advance(end - size, end)
            held = {p: s for p, s in held.items() if p >= end - size}
            assert answers(panes, end - size, end) == expected(held, end - size, end, counts)
            panes.free(end - size + 1)
            held = {p: s for p, s in held.items() if p > end - size}


@pytest.mark.parametrize("grouped", [False, True])
def test_values_no_pane_holds_any_more_are_forgotten(grouped: bool) -> None:
    panes = DistinctPanes(COUNT, grouped)
    most = 0
    for pane in range(60):
        values = pl.Series(range(pane * 700, pane * 700 + 1_000)) * 1_000_003
        panes.update(pl.DataFrame({PANE: [pane] * 1_000, SLOT: [pane % 7 * grouped] * 1_000, VALUE: values}))
        panes.advance(pane - 1, pane + 1)
        assert sum(answers(panes, pane - 1, pane + 1).values()) == (1_000 if pane == 0 else 2_000 if grouped else 1_700)
        most = max(most, panes.bytes)
    assert most < 1_000_000
