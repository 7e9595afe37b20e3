"""Arithmetic on the time axis against Python's whole numbers, which have no end."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.core.axis import between, plus
from jupyter_stream.core.time import MAX_TIME, MIN_TIME

times = st.one_of(
    st.integers(MIN_TIME, MAX_TIME), st.sampled_from((MIN_TIME, MIN_TIME + 1, -1, 0, 1, MAX_TIME - 1, MAX_TIME))
)
spans = st.one_of(st.integers(-MAX_TIME, MAX_TIME), st.sampled_from((-MAX_TIME, -1, 0, 1, MAX_TIME)))


def within(value: int) -> int:
    return max(MIN_TIME, min(value, MAX_TIME))


@given(st.lists(times, max_size=9), spans)
def test_a_time_beyond_an_end_is_that_end_and_infinity_stays(many: list[int], span: int) -> None:
    expected = [t if t in (MIN_TIME, MAX_TIME) else within(t + span) for t in many]
    assert plus(np.array(many, np.int64), span).tolist() == expected
    assert [plus(t, span) for t in many] == expected


@given(st.lists(st.tuples(times, times), max_size=9))
def test_times_further_apart_than_64_bits_are_as_far_apart_as_these_hold(pairs: list[tuple[int, int]]) -> None:
    later, earlier = np.array(pairs, np.int64).reshape(-1, 2).T
    assert between(later, earlier).tolist() == [within(a - b) for a, b in pairs]


def test_what_was_given_stays_as_it_was() -> None:
    given_times = np.array([1, MAX_TIME], np.int64)
    plus(given_times, 0)[0] = 7
    plus(given_times, 5)
    assert given_times.tolist() == [1, MAX_TIME]
