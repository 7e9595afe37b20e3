"""Frames of which the newest are kept."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.core import memory
from jupyter_stream.core.newest_frames import NO_LIMIT, NewestFrames


def rows(start: int, count: int) -> pl.DataFrame:
    return pl.DataFrame({"n": range(start, start + count)})


@given(st.lists(st.integers(0, 9000), max_size=40), st.integers(1, 20_000), st.integers(1, 400_000))
def test_the_newest_rows_within_both_bounds_are_kept_in_order(sizes: list[int], most_rows: int, most_bytes: int):
    kept, total = NewestFrames(most_rows, most_bytes), 0
    for size in sizes:
        let_go = kept.add(rows(total, size))
        total += size
        frames = kept.frames()
        values = [n for frame in frames for n in frame["n"]]
        assert values == list(range(kept.forgotten, total)) and kept.rows == len(values) <= most_rows
        assert kept.bytes <= most_bytes or len(frames) == 1
        assert let_go <= kept.forgotten
    assert [n for f in kept.newest(7) for n in f["n"]] == list(range(total))[max(kept.forgotten, total - 7) :]
    whole = kept.joined()
    assert kept.rows == (0 if whole is None else whole.height) and len(kept) <= 1


def test_a_million_frames_of_one_row_take_the_memory_of_their_rows():
    kept = NewestFrames(NO_LIMIT, NO_LIMIT)
    row = rows(1, 1)
    for _ in range(20_000):
        kept.add(row)
    assert len(kept) < 20_000 / 4096 + 2 * 64 and kept.bytes < 20_000 * 40


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2 GB", 2 * 10**9),
        ("512MiB", 2**29),
        ("1.5 gb", 1_500_000_000),
        ("100000000", 10**8),
        ("1 MB", None),
        ("much", None),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int | None):
    assert memory.parse(text) == size


def test_a_session_may_take_a_quarter_of_the_machine():
    assert memory.LEAST <= memory.default() <= memory.machine() // 4 + memory.LEAST
