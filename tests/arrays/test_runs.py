"""Runs of equal rows: where each begins and ends, as a walk from row to row finds them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.arrays.runs import begins_run, ends_run, run_starts

columns = st.integers(0, 6).flatmap(
    lambda rows: st.lists(st.lists(st.integers(0, 2), min_size=rows, max_size=rows), min_size=1, max_size=3)
)


@given(columns)
def test_a_run_goes_on_while_nothing_changes(drawn: list[list[int]]) -> None:
    arrays = [np.array(column, np.int64) for column in drawn]
    rows = list(zip(*drawn, strict=True))
    first = [i == 0 or rows[i] != rows[i - 1] for i in range(len(rows))]
    last = [i == len(rows) - 1 or rows[i] != rows[i + 1] for i in range(len(rows))]
    assert begins_run(*arrays).tolist() == first and ends_run(*arrays).tolist() == last
    assert run_starts(*arrays).tolist() == [i for i, new in enumerate(first) if new]
