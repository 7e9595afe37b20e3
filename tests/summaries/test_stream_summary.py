import numpy as np
import polars as pl
import pytest
from drawn import QUICK, rows, streams, summary
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream.summaries import SUMMARIES
from jupyter_stream.summaries.hashing import bucket_of, items_of
from jupyter_stream.summaries.spec import SummarySpec
from jupyter_stream.summaries.stream_summary import StreamSummary
from tests.tiers import examples, thinned


@settings(max_examples=examples(15), deadline=None, phases=QUICK)
@given(streams(), st.integers(1, 3), st.integers(2, 3), st.sampled_from([0, 1]))
def test_every_row_that_is_not_gone_is_counted_in_the_zone_of_its_time(batches, depth, rate, kind):
    made = summary(depth, rate, kind)
    everything: list[int] = []
    for ts, items, clock in batches:
        made.insert(rows(ts, items))
        everything += ts
        made.check()
        made.advance(clock)
        made.check()
        zones = made.zones()
        if not zones.starts.size:
            continue
        alive = [at for at in everything if at >= zones.starts[0]]
        edges = [*zones.starts.tolist(), 10**9]
        counted = np.histogram(alive, edges)[0]
        # rows before all zones are with the oldest; those of a zone that was freed are nowhere
        assert counted[1:].tolist() == zones.rows[1:].tolist()
        assert counted[0] <= zones.rows[0] <= counted[0] + len(everything) - len(alive)
        assert (np.diff(zones.levels) <= 0).all()


@settings(max_examples=examples(12), phases=QUICK)
@given(streams(), st.sampled_from([0, 1, 3]))
def test_the_root_of_a_pyramid_is_the_sum_of_its_cells_and_collapse_keeps_totals(batches, kind):
    made = summary(depth=3, rate=2, kind=kind)
    items = items_of([pl.Series(range(6))])
    for ts, numbers, clock in batches:
        made.insert(rows(ts, numbers))
        for level in (1, 2, 3):
            zones = made._zones.level(level)
            if not zones:
                continue
            root = made._pyramids[level - 1].sum(zones, 0, len(zones))
            whole = made.spec.kind.empty(made.spec.buckets, 0)
            for zone in zones:
                whole.add(zone.sketch)
            cells = bucket_of(items, made.spec.buckets)
            assert (whole.estimate(cells, items) == root.estimate(cells, items)).all()
            assert (whole.counts == root.counts).all()
        before = made.zones().rows.sum()
        made.advance(clock, keep_from=0)  # collapses, but frees nothing
        assert made.zones().rows.sum() == before


def many_zones(kind: int) -> tuple[StreamSummary, dict[int, np.ndarray]]:
    """A summary that has collapsed, and of each item how many rows it has in each zone."""
    made = summary(depth=3, rate=4, kind=kind)
    rng = np.random.default_rng(3)
    every: list[tuple[int, int]] = []
    for step in range(60):
        ts = rng.integers(step * 20, step * 20 + 40, 50).tolist()
        numbers = rng.integers(0, 40, 50).tolist()
        made.insert(rows(ts, numbers))
        made.advance(step * 20)
        every += zip(ts, numbers, strict=True)
    edges = [0, *made.zones().starts.tolist()[1:], 10**9]
    return made, {i: np.histogram([at for at, n in every if n == i], edges)[0] for i in range(60)}


def test_counts_through_the_pyramids_find_every_item_a_histogram_has():
    made, true = many_zones(kind=1)
    items = items_of([pl.Series(range(60))])
    found = made.counts(items)
    assert set(made.zones().levels.tolist()) == {1, 2, 3}
    cells = bucket_of(items, made.spec.buckets)
    for place, zone in enumerate(made._zones.zones):
        estimated = zone.sketch.estimate(cells, items)
        assert (found[place] == estimated).all()
        assert all(estimated[i] >= true[i][place] for i in range(60))


@pytest.mark.parametrize("span", [(None, None), (700, None), (300, 900), (1_100, 1_150)])
def test_the_total_of_some_zones_is_the_sum_of_what_each_has(span):
    made, _ = many_zones(kind=1)
    items = items_of([pl.Series(range(60))])
    assert (made.total(items, *span) == made.counts(items, *span).sum(axis=0)).all()
    assert made.total(items, *span).sum() > 0


def test_an_item_that_is_nowhere_is_not_looked_for_below_the_root():
    made = summary(kind=1)
    for at in range(0, 80, 10):
        made.insert(rows([at], [1]))
    zones = made._zones.zones
    while len(zones) < 5:
        made._zones.end_newest(0)
        made.insert(rows([zones[-1].start], [1]))
    asked: list[int] = []
    for zone in zones:
        count_at = zone.sketch.count_at
        zone.sketch.count_at = lambda places, count_at=count_at: (asked.append(places.shape[1]), count_at(places))[1]
    made.counts(items_of([pl.Series([1, 7, 8, 9])]))
    assert asked == [1] * len(zones)


@pytest.mark.parametrize("kind", thinned(range(len(SUMMARIES)), 2))
def test_summaries_stay_under_the_declared_size_for_an_endless_stream(kind):
    made = summary(depth=3, rate=2, kind=kind)
    rng = np.random.default_rng(1)
    most = 0
    for step in range(200):
        ts = rng.integers(step * 40 - 60, step * 40 + 60, 30).clip(0)
        made.insert(rows(ts.tolist(), rng.integers(0, 1_000_000, 30).tolist()))
        made.advance(step * 40 - 60)
        made.counts(items_of([pl.Series([1, 2])]))
        made.total(items_of([pl.Series([1, 2])]))
        most = max(most, made.bytes)
    assert most <= made.spec.bytes
    assert made.zones().numbers.size <= made.spec.zones
    made.check()


def test_a_late_row_goes_to_the_zone_of_its_time_and_one_before_all_zones_is_left_out():
    made = summary(depth=2, rate=2)
    for at in range(0, 1_000, 10):
        made.insert(rows([at], [1]))
        made.advance(at)
    before = made.zones()
    assert before.levels[0] == 2 and before.starts[0] <= 1_000 - 80 - 160
    made.insert(rows([int(before.starts[1]) - 1, int(before.starts[0])], [5, 5]))
    assert made.zones().rows[0] == before.rows[0] + 2
    made.insert(rows([int(before.starts[0]) - 1], [5]))
    assert made.gone == 1
    made.check()


def test_a_zone_ends_where_the_behaviour_of_the_stream_changes_and_not_before():
    def zones_of(numbers: np.ndarray) -> list[int]:
        made = StreamSummary(SummarySpec(("item",), 8_000, 2, 1, SUMMARIES[0]))
        for part in np.array_split(np.arange(numbers.size), 8):
            made.insert(rows(part.tolist(), numbers[part].tolist()))
        return made.zones().starts.tolist()

    rng = np.random.default_rng(5)
    steady = rng.zipf(1.5, 8_000) % 500
    other = np.where(np.arange(8_000) < 2_000, steady, rng.integers(0, 500, 8_000))
    assert zones_of(steady) == [0, 4_000]  # the longest a zone may be
    assert zones_of(other)[1] == 3_000  # the piece after the change has been seen


def test_a_row_far_ahead_and_a_stream_without_punctuations_make_no_more_zones_than_declared():
    made = summary(depth=2, rate=2)
    made.insert(rows([10**12, 0, 500, 10**9], [1, 2, 3, 4]))
    for at in range(0, 3_000, 25):
        made.insert(rows([at], [at]))
    made.check()
    assert made.zones().rows.sum() == 4 + len(range(0, 3_000, 25))


@pytest.mark.parametrize(
    ("columns", "granularity", "rate", "depth", "buckets", "why"),
    [
        ((), 80, 2, 1, 64, "column"),
        (("a",), 0, 2, 1, 64, "microseconds"),
        (("a",), 80, 1, 0, 64, "COLLAPSE"),
        (("a",), 80, 1, 3, 64, "COLLAPSE"),
        (("a",), 80, 2, 0, 64, "COLLAPSE"),
        (("a",), 80, 2, 1, 48, "power of two"),
    ],
)
def test_a_specification_that_makes_no_sense_is_refused(columns, granularity, rate, depth, buckets, why):
    with pytest.raises(ValueError, match=why):
        SummarySpec(columns, granularity, rate, depth, SUMMARIES[0], (), buckets)
