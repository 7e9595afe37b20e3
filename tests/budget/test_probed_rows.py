"""Lookups find the rows of a key among some slots, whatever was merged or let go meanwhile: against a plain list."""

import numpy as np
import polars as pl
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from jupyter_stream.budget.probed_rows import ProbedRows, looked_up
from jupyter_stream.joins.runs import Run
from jupyter_stream.keys.join_keys import JoinKeys
from tests.tiers import examples

slots = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=8), min_size=1, max_size=12)


def run_of(values: list[int], time: int) -> Run:
    times = np.arange(time, time + len(values))
    column = pl.Series("k", values)
    return Run(pl.DataFrame({"k": column, "at": times}), JoinKeys.of([column], len(values)), times, None)


def filled(found: list[list[int]]) -> tuple[ProbedRows, list[tuple[int, int]]]:
    """Rows and, by number, key and time of each."""
    made, known = ProbedRows(), []
    for number, values in enumerate(found):
        run, begins = made.add(run_of(values, 100 * number))
        assert sorted(zip(run.frame["k"], run.times.tolist(), strict=True)) == sorted(
            zip(values, range(100 * number, 100 * number + len(values)), strict=True)
        )
        assert begins.size == len(set(values))
        known += zip(run.frame["k"].to_list(), run.times.tolist(), strict=True)
        made.check()
    return made, known


@settings(max_examples=examples(30), deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(slots, slots, st.integers(0, 12), st.data())
def test_a_lookup_finds_the_rows_of_its_key_between_two_numbers(one, two, gone, data):
    asking, known = filled(one)
    held, there = filled(two)
    keep = held.since(100 * min(gone, len(two) - 1))
    held.forget(keep)
    held.check()
    assert held.first == keep and held.rows >= len(there) - keep
    (segment,) = asking.segments
    first = data.draw(st.integers(0, len(known) - 1))
    key = known[first][0]
    many = next((n for n in range(len(known) - first) if known[first + n][0] != key), len(known) - first)
    low, high = sorted(data.draw(st.tuples(*[st.integers(keep, len(there))] * 2)))
    found = []
    for part in held.segments:
        numbers = (np.array([n]) for n in (first, many))
        for which, mine, theirs in looked_up(segment, *numbers, part, np.array([low]), np.array([high])):
            assert not which.any() and which.size == mine.size
            found += zip((mine + segment.first).tolist(), (theirs + part.first).tolist(), strict=True)
    true = [(m, t) for m in range(first, first + many) for t in range(low, high) if there[t][0] == key]
    assert sorted(found) == true


def test_segments_are_few_and_rows_let_go_take_no_memory():
    made = ProbedRows()
    for number in range(200):
        made.add(run_of(list(range(500)), 1_000 * number))
        made.forget(made.since(1_000 * (number - 10)))
        assert len(made.segments) <= 4
    assert made.rows <= 2 * 11 * 500 + 4_096
    assert len(made.slots) == 11
    assert made.slots_within(1_000 * 195, 1_000 * 197) == made.slots[-5:-2]
    made.forget(made.came)
    assert made.rows == 0 and made.bytes == 0
    made.check()
