"""Rings against lists: whatever comes to which partition, and whatever is given up, ranges fold to what their values do."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.partials.ring_folds import RankedRows, RankRanges, RingCounts, RingSums, RingTree
from jupyter_stream.partials.rings import Rings
from jupyter_stream.partials.row_log import RowLog

SOME = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(-9, 9)), max_size=40)
"""Rows of a step: partition, how much later than the one before, value."""


class Both:
    """Rings, and the same in lists."""

    def __init__(self) -> None:
        self.rings = Rings()
        self.sums, self.most = RingSums(self.rings), RingTree(self.rings, np.maximum, np.int64, -100)
        self.floats = RingTree(self.rings, np.add, np.float64, 0.0)
        self.rows: dict[int, list[tuple[int, int]]] = {}
        self.now = 0

    def take(self, rows: list[tuple[int, int, int]]) -> None:
        made = []
        for slot, later, value in rows:
            self.now += later
            made.append((slot, self.now, value))
            self.rows.setdefault(slot, []).append((self.now, value))
        made.sort(key=lambda row: row[:1])
        slots, times, values = (np.array([row[i] for row in made], np.int64) for i in range(3))
        ranked = RankedRows.of(self.rings, slots)
        self.rings.times.held[ranked.places] = times
        self.sums.append(ranked, values)
        self.most.append(ranked, values)
        self.floats.append(ranked, values / 4)

    def check(self) -> None:
        self.rings.check()
        asked = []
        for slot, rows in self.rows.items():
            begin, end = int(self.rings.begin[slot]), int(self.rings.end[slot])
            assert end == len(rows)
            for first in range(begin, end + 1):
                asked += [(slot, first, stop) for stop in {first, min(first + 1, end), (first + end) // 2, end}]
        for some in ([a] for a in asked[:6]), [asked]:
            for each in some:
                self._compare(each)

    def _compare(self, asked: list[tuple[int, int, int]]) -> None:
        slots, first, stop = (np.array([a[i] for a in asked], np.int64) for i in range(3))
        ranges = RankRanges.of(self.rings, slots, first, stop)
        values = [[v for _, v in self.rows[s][f:t]] for s, f, t in asked]
        assert self.sums.over(ranges).tolist() == [sum(v) for v in values]
        assert self.most.over(ranges).tolist() == [max(v, default=-100) for v in values]
        assert self.floats.over(ranges).tolist() == [sum(v) / 4 for v in values]
        assert RingCounts().over(ranges).tolist() == [len(v) for v in values]
        times = np.array([self.rows[s][f][0] if f < len(self.rows[s]) else self.now + 1 for s, f, _ in asked])
        ends = self.rings.end[slots]
        for side, later in (("left", 0), ("right", 1)):
            found = self.rings.search(slots, times, self.rings.begin[slots], ends, side)
            for (slot, _, _), time, rank in zip(asked, times.tolist(), found.tolist(), strict=True):
                begin = int(self.rings.begin[slot])
                assert rank == begin + sum(t < time + later for t, _ in self.rows[slot][begin:])


@given(st.lists(st.tuples(SOME, st.integers(0, 6)), max_size=8))
def test_ranges_fold_to_what_their_values_do(steps: list[tuple[list[tuple[int, int, int]], int]]) -> None:
    both = Both()
    for rows, kept in steps:
        if rows:
            both.take(rows)
        for slot in both.rows:
            both.rings.begin[slot] = max(both.rings.begin[slot], len(both.rows[slot]) - kept)
        both.check()
        both.rings.expire(both.now - 2)
        both.check()


def test_rings_of_a_thousand_partitions_have_room_for_what_is_needed_and_no_more() -> None:
    both = Both()
    rng = np.random.default_rng(1)
    for _ in range(60):
        both.take([(int(slot), 1, int(slot) % 7) for slot in rng.integers(0, 1000, 500)])
        both.rings.expire(both.now - 1500)
        held = int((both.rings.end - both.rings.begin).sum())
        assert held <= 1501
    both.rings.check()
    assert both.rings.bytes < 64 * 8 * 5 * 1501


@given(st.lists(st.integers(1, 9), min_size=1, max_size=60), st.randoms(use_true_random=False))
def test_a_log_finds_rows_by_number_in_any_order(sizes: list[int], random: object) -> None:
    log, rows = RowLog(), []
    for n, size in enumerate(sizes):
        rows += [(n, f"{n}.{i}") for i in range(size)]
        numbers = log.append(pl.DataFrame(rows[-size:], schema={"n": pl.Int64, "s": pl.String}, orient="row"))
        assert numbers.tolist() == list(range(len(rows) - size, len(rows)))
        if n == len(sizes) // 2:
            kept = sorted(random.sample(range(len(rows)), len(rows) // 2))  # type: ignore[attr-defined]
            log.keep(np.array(kept, np.int64))
            rows = [rows[k] for k in kept]
    asked = [random.randrange(len(rows)) for _ in range(20)] if rows else []  # type: ignore[attr-defined]
    assert log.rows(np.array(asked, np.int64)).rows() == [rows[a] for a in asked]
