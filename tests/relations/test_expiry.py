"""Rows by when they leave: whatever is kept, the same rows leave at the same times."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.core.messages import UNTIL, ints
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.relations.expiry import Calendar, Expiring, Fifo, Partitions, Scanned

SPAN = 30
steps = st.lists(st.tuples(st.lists(st.integers(1, SPAN), max_size=6), st.integers(0, 12)), max_size=12)


def frame(numbers: list[int], ends: list[int]) -> pl.DataFrame:
    return pl.DataFrame({"n": numbers, UNTIL: ends}, schema={"n": pl.Int64(), UNTIL: pl.Int64()})


@pytest.mark.parametrize(
    "make", [lambda: Partitions(SPAN, 4), lambda: Partitions(SPAN, 1), Scanned], ids=["4", "1", "list"]
)
@given(steps)
def test_rows_leave_when_their_time_has_come(make: type[Expiring], steps: list[tuple[list[int], int]]) -> None:
    kept, held, now, number = make(), {}, 0, 0
    for lives, later in steps:
        ends = [now + d for d in lives]
        kept.insert(frame(list(range(number, number + len(ends))), ends))
        held |= dict(zip(range(number, number + len(ends)), ends, strict=True))
        number += len(ends)
        now += later
        gone = {n for f in kept.expire(now) for n in f.get_column("n")}
        assert gone == {n for n, end in held.items() if end < now}
        held = {n: end for n, end in held.items() if end >= now}
        assert kept.rows == len(held)
        kept.check()


@given(steps)
def test_a_calendar_gives_what_is_due_once(steps: list[tuple[list[int], int]]) -> None:
    calendar, held, now, number = Calendar(SPAN, 4), {}, 0, 0
    for lives, later in steps:
        ends = np.array([now + d for d in lives], np.int64)
        calendar.insert(np.arange(number, number + ends.size), ends)
        held |= dict(zip(range(number, number + ends.size), ends.tolist(), strict=True))
        number += ends.size
        now += later
        numbers, at = calendar.expire(now)
        assert dict(zip(numbers.tolist(), at.tolist(), strict=True)) == {n: e for n, e in held.items() if e < now}
        held = {n: e for n, e in held.items() if e >= now}
        assert calendar.entries == len(held)
        calendar.check()


@given(steps, st.lists(st.integers(1, 9), min_size=1, max_size=12))
def test_rows_leave_as_before_however_partitions_are_divided_anew(
    steps: list[tuple[list[int], int]], counts: list[int]
) -> None:
    kept, calendar, as_before, number = Partitions(SPAN, 4), Calendar(SPAN, 4), Partitions(SPAN, 4), 0
    now = 0
    for i, (lives, later) in enumerate(steps):
        ends = [now + d for d in lives]
        for partitions in (kept, as_before):
            partitions.insert(frame(list(range(number, number + len(ends))), ends))
        calendar.insert(np.arange(number, number + len(ends)), np.array(ends, np.int64))
        number += len(ends)
        now += later
        for structure in (kept, calendar):
            structure.divide(counts[i % len(counts)])
            structure.check()
        gone = {n for f in as_before.expire(now) for n in f.get_column("n")}
        assert gone == {n for f in kept.expire(now) for n in f.get_column("n")}
        assert gone == set(calendar.expire(now)[0].tolist())
        assert kept.count == counts[i % len(counts)] and sum(f.height for f in kept.head(1 << 20)) == kept.rows
        kept.check()


def test_a_list_gives_rows_in_the_order_they_came() -> None:
    kept = Fifo()
    for begin in (0, 10, 20):
        kept.insert(frame([begin + 1, begin], [begin + 8, begin + 3]))
        kept.check()
    assert [ints(f.get_column("n")).tolist() for f in kept.expire(14)] == [[0, 1], [10]]
    assert kept.rows == 3


def test_what_lives_for_ever_is_not_kept() -> None:
    for kept in (Fifo(), Partitions(SPAN), Scanned()):
        kept.insert(frame([1], [MAX_TIME]))
        assert kept.rows == 0
