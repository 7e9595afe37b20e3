"""Integer keys in few words: they say what the values are, and values without room are told."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.core.messages import Int64s
from jupyter_stream.joins.packing import Packing
from jupyter_stream.joins.runs import Run, Runs
from jupyter_stream.keys.join_keys import JoinKeys
from jupyter_stream.keys.key_words import KeyWords
from tests.oracle.search import searching

INT64 = st.integers(-(2**63), 2**63 - 1)


@st.composite
def columns(draw: st.DrawFn) -> list[Int64s]:
    """Some columns of some rows, narrow or wide, anywhere."""
    rows = draw(st.integers(1, 20))
    made = []
    for _ in range(draw(st.integers(2, 6))):
        least, many = draw(INT64), draw(st.sampled_from((1, 1_000, 2**31, 2**63, 2**64)))
        values = st.integers(least, min(2**63 - 1, least + many))
        made.append(np.array(draw(st.lists(values, min_size=rows, max_size=rows)), np.int64))
    return made


@searching
@given(columns())
def test_words_say_what_the_keys_are(keys: list[Int64s]) -> None:
    words = KeyWords.of([(int(c.min()), int(c.max())) for c in keys])
    if words is None:
        return
    packed = words.packed(keys)
    assert packed is not None and len(packed) < len(keys)
    for number, column in enumerate(keys):
        assert np.array_equal(words.column(number, packed), column)


@searching
@given(st.lists(st.lists(INT64, min_size=3, max_size=3), min_size=1, max_size=8))
def test_rows_are_in_words_or_are_told_to_have_no_room(rows: list[list[int]]) -> None:
    words = KeyWords.of([(0, 1_000)] * 3)
    assert words is not None and len(words.words) == 1
    keys = [np.array(c, np.int64) for c in zip(*rows, strict=True)]
    packed = words.packed(keys)
    within = all(-1024 <= value < 3 * 1024 for row in rows for value in row)
    assert (packed is not None) == within
    near = words.packed([c % 4096 - 1024 for c in keys])
    assert near is not None
    assert all(np.array_equal(words.column(i, near), c % 4096 - 1024) for i, c in enumerate(keys))


def test_columns_that_fill_their_words_stay_columns() -> None:
    wide = (-(2**63), 2**63 - 1)
    assert KeyWords.of([wide, wide, wide]) is None
    packed = KeyWords.of([wide, (0, 1), (5, 9)])
    assert packed is not None and packed.words == ((0,), (2, 1))


def test_rows_kept_are_put_in_words_anew_when_values_come_without_room() -> None:
    side = Runs()
    packing = Packing((side,))

    def keys(*columns: list[int]) -> JoinKeys:
        return packing.packed(JoinKeys.of([pl.Series(c, dtype=pl.Int64) for c in columns], len(columns[0])))

    few = keys([1, 2], [3, 4], [5, 6])
    assert len(few.columns) == 1
    side.add(Run(pl.DataFrame({"n": [0, 1]}), few, np.zeros(2, np.int64), None))
    more = keys([2, 1 << 40], [4, 4], [6, -5])
    (kept,) = side.runs
    assert len(kept.keys.columns) == len(more.columns) == 1 and np.array_equal(kept.keys.key(1), [3, 4])
    assert np.array_equal(more.same(np.array([0, 1]), kept.keys, np.array([1, 1])), [True, False])
    wide = keys([-(2**63), 2**63 - 1], [-(2**63), 2**63 - 1], [-(2**63), 2**63 - 1])
    assert len(wide.columns) == 3
    (kept,) = side.runs
    assert [list(c) for c in kept.keys.columns] == [[1, 2], [3, 4], [5, 6]]
    assert len(keys([1], [2], [3]).columns) == 3
