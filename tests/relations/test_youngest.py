"""The rows that a bag difference returns of one value, against looking at each of them at each instant."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.relations import youngest
from jupyter_stream.relations.youngest import turns


def members_at(since: list[int], until: list[int], right: int, at: int) -> set[int]:
    alive = [i for i, (a, b) in enumerate(zip(since, until, strict=True)) if a <= at < b]
    return set(alive[right:])


@given(st.data())
@pytest.mark.parametrize("instants", [1, 3, 256])
def test_turns_are_what_looking_at_every_row_at_every_instant_finds(instants: int, data: st.DataObject) -> None:
    held = data.draw(st.integers(0, 12))
    new = sorted(data.draw(st.lists(st.integers(1, 20), max_size=8)))
    since = [MIN_TIME] * held + new
    until = [
        MAX_TIME if (end := data.draw(st.none() | st.integers(max(1, start), 21))) is None else end for start in since
    ]
    before = data.draw(st.integers(0, 15))
    also = data.draw(st.lists(st.integers(1, 21), max_size=6))
    at = sorted({*new, *(e for e in until if e != MAX_TIME), *also})
    if not at:
        return
    counts = [data.draw(st.integers(0, 15)) for _ in at]
    was = members_at(since, [MAX_TIME] * len(until), before, 0)
    arrays = (np.array(since, np.int64), np.array(until, np.int64), np.isin(np.arange(len(since)), list(was)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(youngest, "_INSTANTS", instants)
        found = turns(*arrays, before, np.array(at), np.array(counts))
    expected, last = [], was
    for instant, right in zip(at, counts, strict=True):
        now = members_at(since, until, right, instant)
        expected += [(instant, row, row in now) for row in sorted(now ^ last)]
        last = now
    assert [(int(a), int(r), bool(e)) for a, r, e in zip(found.at, found.rows, found.enter, strict=True)] == expected
    assert set(np.flatnonzero(found.members).tolist()) == last


def test_rows_far_from_the_border_are_counted_only() -> None:
    rows, instants, left_out = 50_000, 1_000, 500
    since, until = np.full(rows, MIN_TIME), np.full(rows, MAX_TIME)
    at = np.arange(1, instants + 1)
    until[:instants] = at
    members = np.arange(rows) >= left_out
    tracemalloc.start()
    found = turns(since, until, members, left_out, at, np.full(instants, left_out))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # each row that ends was left out, and the next one is in its place
    assert found.rows.tolist() == list(range(left_out, left_out + instants)) and not found.enter.any()
    assert peak < 20_000_000  # every row at every instant would be fifty million
