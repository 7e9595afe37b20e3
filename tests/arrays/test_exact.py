"""Sums of whole numbers in halves are those of Python's own integers, of any size and however they are put together."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.arrays.exact import halves, whole

BIGINT = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3), st.sampled_from((-(2**63), 2**63 - 1)))


@given(st.lists(st.lists(BIGINT, max_size=8), min_size=1, max_size=4), st.lists(BIGINT, max_size=3))
def test_sums_of_halves_are_sums_of_what_they_are_halves_of(groups: list[list[int]], gone: list[int]) -> None:
    sums = [[int(half.sum()) for half in halves(np.array(group, np.int64))] for group in groups]
    less = [int(half.sum()) for half in halves(np.array(gone, np.int64))]
    high, low = (np.array([s[i] - less[i] for s in sums], np.int64) for i in (0, 1))
    exact = [sum(group) - sum(gone) for group in groups]
    fits = [-(2**63) <= total < 2**63 for total in exact]
    values, beyond = whole(high, low, exact=True)
    assert (beyond is None) == all(fits)
    assert [not b for b in ([False] * len(fits) if beyond is None else beyond)] == fits
    assert [v for v, fit in zip(values.tolist(), fits, strict=True) if fit] == [
        total for total, fit in zip(exact, fits, strict=True) if fit
    ]
    assert whole(high, low, exact=False)[0].tolist() == [float(total) for total in exact]
