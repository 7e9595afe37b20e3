"""Lists of rows and numbers are walked: pieces that are small together make the whole list."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.arrays.walking import nth, stretches, walked

spans = st.lists(st.tuples(st.integers(0, 8), st.integers(-2, 9)), max_size=8)


@given(spans, st.integers(1, 7))
def test_pieces_are_small_and_make_the_whole(drawn: list[tuple[int, int]], most: int) -> None:
    first = np.array([f for f, _ in drawn], np.int64)
    after = first + np.array([n for _, n in drawn], np.int64)
    pieces = list(walked(first, after, most))
    assert all(0 < rows.size == numbers.size <= most for rows, numbers in pieces)
    found = [pair for rows, numbers in pieces for pair in zip(rows.tolist(), numbers.tolist(), strict=True)]
    assert found == [(i, n) for i, (f, many) in enumerate(drawn) for n in range(f, f + many)]


@given(spans, st.integers(1, 7))
def test_stretches_hold_few_pairs_or_one_number(drawn: list[tuple[int, int]], most: int) -> None:
    first = np.array([f for f, _ in drawn], np.int64)
    after = np.maximum(first, first + np.array([n for _, n in drawn], np.int64))
    upto = int(after.max(initial=0))
    found = list(stretches(first, after, upto, most))
    assert [n for low, high in found for n in range(low, high)] == list(range(upto))
    for low, high in found:
        pairs = int(np.maximum(np.minimum(after, high) - np.maximum(first, low), 0).sum())
        assert pairs <= most or high == low + 1


def test_a_row_of_a_million_million_numbers_is_walked_and_never_made() -> None:
    pieces = walked(np.array([3, 5]), np.array([4, 10**18]), 1000)
    assert next(pieces)[1].tolist() == [3]
    rows, numbers = next(pieces)
    assert set(rows.tolist()) == {1} and numbers.tolist() == list(range(5, 1005))


def test_places_within_their_own() -> None:
    assert nth(np.array([2, 0, 3])).tolist() == [0, 1, 0, 1, 2]
    assert nth(np.empty(0, np.int64)).size == 0
