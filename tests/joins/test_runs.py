"""Rows of a join's side: what is found among them, whatever they were stored in, is what brute force finds."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.joins import candidates, run_index, sorted_hashes
from jupyter_stream.joins import runs as module
from jupyter_stream.joins.candidates import Meanwhile, meet
from jupyter_stream.joins.runs import Run, Runs
from jupyter_stream.joins.time_bounds import TimeBounds
from jupyter_stream.keys.join_keys import JoinKeys
from jupyter_stream.windows.protocol import Schedule
from tests.oracle.search import searching

YEAR = 365 * 86_400_000_000


def run_of(numbers: list[int], keys: list[object], times: list[int]) -> Run:
    """A run whose rows are told apart by a number."""
    return Run(
        pl.DataFrame({"n": numbers}),
        JoinKeys.of([pl.Series(keys)], len(keys)),
        np.array(times, np.int64),
        np.zeros(len(keys), np.bool_),
    )


def found(side: Runs, keys: list[object], times: list[int], reach: TimeBounds) -> list[tuple[int, int]]:
    """Pairs of a row asked for and a stored one: equal keys, the stored one's time within bounds of the other's, one extent."""
    at = np.array(times, np.int64)
    rows = run_of(list(range(len(keys))), keys, times)
    pairs = []
    done: list[bool] = []
    for run, (mine, theirs, settled) in meet(
        rows, side.runs, reach, True, lambda _, *found: found, Meanwhile(lambda: done.append(True))
    ):
        same = rows.keys.same(mine, run.keys, theirs)
        assert same is not None
        assert same.all() or not settled
        difference = run.times[theirs] - at[mine]
        if reach.low is not None and reach.high is not None:
            same &= (difference >= reach.low) & (difference <= reach.high)
        if reach.extents is not None:
            phase, slide = reach.extents
            same &= (run.times[theirs] - phase) // slide == (at[mine] - phase) // slide
        numbers = run.frame.get_column("n").to_numpy()[theirs]
        pairs += list(zip(mine[same].tolist(), numbers[same].tolist(), strict=True))
    assert done == [True]
    return sorted(pairs)


@st.composite
def rows(draw: st.DrawFn, most: int) -> tuple[list[object], list[int]]:
    """Keys, some of them hot, and times, near each other or years apart."""
    unit = draw(st.sampled_from((1, 1_000_003, YEAR)))
    keys = draw(st.sampled_from((st.integers(0, 3), st.sampled_from(("a", "", "b")), st.just(1.5))))
    size = draw(st.integers(1, most))
    times = draw(st.lists(st.integers(-20, 20).map(lambda t: t * unit), min_size=size, max_size=size))
    return draw(st.lists(keys, min_size=size, max_size=size)), times


@searching
@given(st.data())
def test_what_is_stored_in_pieces_is_found_and_let_go(data: st.DataObject) -> None:
    stored: list[tuple[int, object, int]] = []
    keys, times = data.draw(rows(60))
    kind = type(keys[0])
    side = Runs()
    cuts = sorted(data.draw(st.lists(st.integers(1, max(1, len(keys) - 1)), max_size=8, unique=True)))
    small = data.draw(st.sampled_from((1, 8, 4_096)))
    made = patch.multiple(
        module,
        _SMALL=small,
        _LARGE=4 * small,
        _BLOCK=small,
        _MAKING=data.draw(st.integers(0, 8)),
        _SORTING=data.draw(st.integers(0, 8)),
    )
    looked = patch.multiple(run_index, CROWDED=0, MANY=0, _PAIRS=data.draw(st.integers(1, 50)), _SPREAD=0)
    bulk = patch.multiple(
        candidates, _PIECE=small, _COUPLES=small, _WORTH=data.draw(st.sampled_from((1, 1_000))), _KEPT=60
    )
    few = patch.multiple(run_index, _FEW=data.draw(st.sampled_from((0, 64))), _FEW_HASHES=1)
    crowd = patch.object(candidates, "CROWDED", data.draw(st.sampled_from((-1_000_000, 1))))
    with made, looked, bulk, few, crowd, patch.object(sorted_hashes, "_BLOCK", small):
        for begin, end in zip([0, *cuts], [*cuts, len(keys)], strict=True):
            if end > begin:
                numbers = list(range(begin, end))
                side.add(run_of(numbers, keys[begin:end], times[begin:end]))
                stored += list(zip(numbers, keys[begin:end], times[begin:end], strict=True))
        side.check()
        assert side.rows == len(keys) and side.bytes > 0
        asked, when = data.draw(rows(10).filter(lambda r: type(r[0][0]) is kind))
        low = data.draw(st.integers(-5, 5)) * 1_000_003
        high = low + data.draw(st.integers(0, 8)) * YEAR
        phase, slide = extents = Schedule(
            *data.draw(st.sampled_from(((0, 1), (1, 2), (7, 30_000_003), (2 * YEAR, 3 * YEAR))))
        )
        reach = TimeBounds(low, high, data.draw(st.sampled_from((None, extents))))
        before = data.draw(st.sampled_from(times))
        expected = sorted(
            (i, n)
            for i, (k, t) in enumerate(zip(asked, when, strict=True))
            for n, key, time in stored
            if key == k
            and low <= time - t <= high
            and (reach.extents is None or (time - phase) // slide == (t - phase) // slide)
        )
        assert found(side, asked, when, reach) == expected
        gone = sorted(n for frame, _ in side.take(before) for n in frame.get_column("n").to_list())
    assert gone == [n for n, _, t in stored if t < before]
    side.check()
    assert side.rows == len(keys) - len(gone)


def test_rows_past_are_let_go_once_they_are_most_of_their_run() -> None:
    side = Runs()
    side.add(run_of(list(range(100)), [1] * 100, list(range(100))))
    full = side.bytes
    side.expire(50)
    assert side.rows == 100
    side.expire(95)
    assert side.rows == 5 and side.bytes < full / 2
    side.expire(100)
    assert side.rows == 0 and side.bytes == 0


@pytest.mark.parametrize("keys", [[0.0, float("nan")], [-0.0, -float("nan")]])
def test_zeros_are_one_key_and_so_are_nans(keys: list[float]) -> None:
    side = Runs()
    side.add(run_of([0, 1], [0.0, float("nan")], [0, 0]))
    assert found(side, keys, [0, 0], TimeBounds(0, 0)) == [(0, 0), (1, 1)]
