"""Pane and extent arithmetic against the definition: the extent ending at e, a multiple of the slide, holds e - d <= ts < e."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.windows import TimeWindow
from tests.tiers import slow

windows = st.builds(
    TimeWindow,
    range=st.one_of(st.none(), st.integers(1, 40)),
    slide=st.integers(1, 40),
    origin=st.integers(-100, 100),
    starts=st.booleans(),
)
times = st.integers(-500, 500)


def ends(window: TimeWindow, low: int, high: int) -> list[int]:
    shift = window.range if window.starts and window.range is not None else 0
    return [e for e in range(low, high) if (e - window.origin - shift) % window.slide == 0]


@given(windows, times)
def test_a_time_is_in_exactly_the_extents_of_its_pane(window: TimeWindow, ts: int) -> None:
    pane = window.pane_of(ts)
    first, last = window.first_extent(pane), window.last_extent(pane)
    holding = [
        e for e in ends(window, ts - 100, ts + 100) if ts < e and (window.range is None or e - window.range <= ts)
    ]
    reach = [window.end(k) for k in range(first, (last if last is not None else first + 200) + 1)]
    assert [e for e in reach if e < ts + 100] == holding


@given(windows, st.lists(times, min_size=1))
def test_panes_of_many_times_are_the_panes_of_each(window: TimeWindow, ts: list[int]) -> None:
    assert window.pane(np.array(ts, np.int64)).tolist() == [window.pane_of(t) for t in ts]


@given(windows, times)
def test_a_pane_begins_at_its_start_and_not_before(window: TimeWindow, ts: int) -> None:
    pane = window.pane_of(ts)
    start = window.pane_start(pane)
    assert start <= ts
    assert window.pane_of(start) == pane
    assert window.pane_of(start - 1) < pane


@given(windows, st.integers(-50, 50))
def test_an_extents_panes_are_those_that_name_it(window: TimeWindow, k: int) -> None:
    first, end = window.first_pane(k), window.panes_per_slide * k
    of_many = window.first_panes(np.array([k, k + 1]))
    assert (None if of_many is None else of_many.tolist()) == (
        None if first is None else [first, window.first_pane(k + 1)]
    )
    for pane in range((end - 100) if first is None else first, end):
        assert window.first_extent(pane) <= k
        last = window.last_extent(pane)
        assert last is None or last >= k


@slow
@given(windows, times)
def test_the_last_closed_extent_ends_at_or_before_the_punctuation(window: TimeWindow, punctuation: int) -> None:
    k = window.closed(punctuation)
    assert window.end(k) <= punctuation < window.end(k + 1)


def test_a_window_is_printed_as_it_is_written() -> None:
    assert str(TimeWindow(3_600_000_000, 300_000_000)) == "[RANGE 1 HOUR SLIDE 5 MINUTES]"
    assert str(TimeWindow(1_000_000, 1_000_000)) == "[RANGE 1 SECOND TUMBLING]"
    assert str(TimeWindow(None, 60_000_000)) == "[RANGE ALL SLIDE 1 MINUTE]"
