"""Orders of rows by whole numbers, against Python's sort."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream.arrays import order
from jupyter_stream.arrays.order import order_of
from tests.tiers import examples

KEYS = [
    st.sampled_from([-(2**63), -5, 0, 1, 2, 3, 2**62]),
    st.integers(-(2**40), 2**40),
    st.integers(-3, 3),
]


@pytest.fixture(params=[0, 500], ids=["many rows", "few rows"], autouse=True)
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "_FEW", request.param)


@settings(max_examples=examples(60))
@given(st.data(), st.lists(st.sampled_from(KEYS), min_size=1, max_size=3), st.integers(0, 40))
def test_rows_are_in_the_order_of_all_keys_and_else_as_they_came(
    data: st.DataObject, kinds: list[st.SearchStrategy[int]], rows: int
) -> None:
    keys = [data.draw(st.lists(kind, min_size=rows, max_size=rows)) for kind in kinds]
    found = order_of(*(np.array(key, np.int64) for key in keys))
    assert found.tolist() == sorted(range(rows), key=lambda row: [key[row] for key in keys])


def test_signs_and_truths_order_rows_too() -> None:
    times = np.array([5, 5, 3, 3, 3])
    assert order_of(times, np.array([1, -1, 1, -1, -1], np.int8)).tolist() == [3, 4, 2, 1, 0]
    assert order_of(times, np.array([True, False, True, False, False])).tolist() == [3, 4, 2, 1, 0]
