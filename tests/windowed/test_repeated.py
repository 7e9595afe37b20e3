"""Each answer is given as often as rows of its time end an extent, also where only some of the answers are at hand."""

from __future__ import annotations

import numpy as np
import pytest

from jupyter_stream.partials.tuple_ends import ExtentEnds
from jupyter_stream.windowed.tuple_extents import _repeated


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("whole", [True, False])
def test_answers_are_given_with_the_numbers_of_all_extents_of_their_time(seed: int, whole: bool) -> None:
    of = np.random.default_rng(seed)
    times = int(of.integers(1, 6))
    counts = of.integers(1, 4, times)
    ends = ExtentEnds(np.arange(times) * 10, counts, np.arange(int(counts.sum())) + 100)
    extents = np.arange(times) if whole else np.sort(of.integers(0, times, times))
    first = np.cumsum(counts) - counts
    expected = [(i, e, first[e] + n) for i, e in enumerate(extents.tolist()) for n in range(counts[e])]
    assert list(zip(*(column.tolist() for column in _repeated(extents, ends)), strict=True)) == expected
