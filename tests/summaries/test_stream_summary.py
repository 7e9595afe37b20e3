import numpy as np
import polars as pl
import pytest
from drawn import QUICK, rows, streams, summary
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.summaries import SUMMARIES
from jupyter_stream.summaries.hashing import bucket_of, items_of
from jupyter_stream.summaries.spec import SummarySpec
from jupyter_stream.summaries.stream_summary import StreamSummary


@settings(max_examples=15, deadline=None, phases=QUICK)
@given(streams(), st.integers(1, 3), st.integers(2, 3), st.sampled_from([0, 1]))
def test_every_row_that_is_not_gone_is_found_in_its_cell_once(batches, depth, rate, kind):
    made = summary(depth, rate, kind)
    everything: list[tuple[int, int]] = []
    for ts, items, clock in batches:
        made.insert(rows(ts, items))
        everything += zip(ts, items, strict=True)
        made.check()
        made.advance(clock)
        made.check()
        views = made.zones()
        held = {}
        for view in views:
            for bucket in range(made.spec.buckets):
                frame, seq = made.cell(view.number, bucket)
                for number, at, item in (
                    zip(seq.tolist(), *(frame.to_dict(as_series=False).values()), strict=True) if seq.size else ()
                ):
                    assert number not in held
                    held[number] = (at, item)
        assert all(everything[number] == row for number, row in held.items())
        oldest = views[0].start if views else 0
        missing = [row for number, row in enumerate(everything) if number not in held]
        assert all(at < oldest for at, _ in missing)
    assert [v.end for v in made.zones()][-1:] in ([], [MAX_TIME])


@settings(max_examples=12, phases=QUICK)
@given(streams(), st.sampled_from([0, 1, 3]))
def test_the_root_of_a_pyramid_is_the_sum_of_its_cells_and_collapse_keeps_totals(batches, kind):
    made = summary(depth=3, rate=2, kind=kind)
    items = items_of([pl.Series(range(6))])
    for ts, numbers, clock in batches:
        made.insert(rows(ts, numbers))
        for level in (1, 2, 3):
            zones = made._zones.level(level)
            root = made._pyramids[level - 1].root(zones)
            if root is None:
                continue
            whole = made.spec.kind.empty(made.spec.buckets, 0)
            for zone in zones:
                whole.add(zone.sketch)
            cells = bucket_of(items, made.spec.buckets)
            assert (whole.estimate(cells, items) == root.sketch.estimate(cells, items)).all()
            assert (whole.counts == root.sketch.counts).all()
        before, held = sum(z.counts.sum() for z in made.zones()), made.rows
        made.advance(clock, keep_from=0)  # collapses, but frees nothing
        assert sum(z.counts.sum() for z in made.zones()) == before == held == made.rows


def test_estimates_through_the_pyramid_find_every_item_a_histogram_has():
    made = summary(kind=1)
    rng = np.random.default_rng(3)
    true: dict[tuple[int, int], int] = {}
    for step in range(30):
        ts = rng.integers(step * 20, step * 20 + 40, 50)
        made.insert(rows(ts.tolist(), rng.integers(0, 40, 50).tolist()))
        made.advance(step * 20)
    zones, levels, found = made.estimates(items_of([pl.Series(range(60))]))
    assert set(levels.tolist()) == {1, 2, 3}
    for place, zone in enumerate(zones.tolist()):
        assert (found[place] == made.estimate(zone, items_of([pl.Series(range(60))]))).all()
        for bucket in range(made.spec.buckets):
            for item in made.cell(zone, bucket)[0].to_dict(as_series=False).get("item", []):
                true[place, item] = true.get((place, item), 0) + 1
    assert all(found[at] >= many for at, many in true.items())
    assert sum(true.values()) == made.rows


def test_an_item_that_is_nowhere_is_not_looked_for_below_the_root():
    made = summary(kind=1)
    made.insert(rows(list(range(0, 80, 2)), [1] * 40))
    assert len(made.zones()) > 1
    asked: list[int] = []
    for zone in made._zones.zones:
        estimate = zone.sketch.estimate
        zone.sketch.estimate = lambda cells, items, estimate=estimate: (
            asked.append(items.size),
            estimate(cells, items),
        )[1]
    made.estimates(items_of([pl.Series([1, 7, 8, 9])]))
    assert set(asked) == {1}


def test_a_late_row_goes_to_the_zone_of_its_time_and_one_before_all_zones_is_left_out():
    made = summary(depth=2, rate=2)
    for at in range(0, 1_000, 10):
        made.insert(rows([at], [1]))
        made.advance(at)
    first = made.zones()[0]
    assert first.level == 2 and first.start <= 1_000 - 80 - 160
    made.insert(rows([first.end - 1, first.start], [5, 5]))
    frame = pl.concat(made.cell(first.number, bucket)[0] for bucket in range(8) if made.zones()[0].counts[bucket])
    assert frame.filter(pl.col("item") == 5).get_column("$ts").to_list() == [first.end - 1, first.start]
    made.insert(rows([first.start - 1], [5]))
    assert made.gone == 1
    assert made.rows == int(sum(z.counts.sum() for z in made.zones()))


def test_a_zone_ends_where_the_behaviour_of_the_stream_changes_and_not_before():
    def zones_of(numbers: np.ndarray) -> list[int]:
        made = StreamSummary(SummarySpec(("item",), 8_000, 2, 1, SUMMARIES[0]))
        for part in np.array_split(np.arange(numbers.size), 8):
            made.insert(rows(part.tolist(), numbers[part].tolist()))
        return [z.start for z in made.zones()]

    rng = np.random.default_rng(5)
    steady = rng.zipf(1.5, 8_000) % 500
    other = np.where(np.arange(8_000) < 2_000, steady, rng.integers(0, 500, 8_000))
    assert zones_of(steady) == [0, 4_000]  # the longest a zone may be
    assert zones_of(other)[1] == 3_000  # the piece after the change has been seen


def test_summaries_stay_under_the_declared_size_for_an_endless_stream():
    made = summary(depth=3, rate=2)
    rng = np.random.default_rng(1)
    most, rows_most = 0, []
    for step in range(200):
        ts = rng.integers(step * 40 - 60, step * 40 + 60, 30).clip(0)
        made.insert(rows(ts.tolist(), rng.integers(0, 1_000_000, 30).tolist()))
        made.advance(step * 40 - 60)
        made.estimates(items_of([pl.Series([1, 2])]))
        most = max(most, made.bytes)
        rows_most.append(made.row_bytes)
    assert most <= made.spec.bytes
    assert len(made.zones()) <= made.spec.zones
    assert max(rows_most[100:]) <= 1.5 * max(rows_most[40:100])
    made.check()


def test_a_row_far_ahead_and_a_stream_without_punctuations_make_no_more_zones_than_declared():
    made = summary(depth=2, rate=2)
    made.insert(rows([10**12, 0, 500, 10**9], [1, 2, 3, 4]))
    for at in range(0, 3_000, 25):
        made.insert(rows([at], [at]))
    made.check()
    assert made.rows == 4 + len(range(0, 3_000, 25))


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
