"""Every kind of summary keeps the laws and its own error bound."""

import numpy as np
import polars as pl
import pytest
from drawn import QUICK
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream.summaries import SUMMARIES, count_sketch, histogram, kind_named, sample
from jupyter_stream.summaries.hashing import bucket_of, items_of
from jupyter_stream.summaries.protocol import Sketch, SketchKind
from tests.tiers import examples

CELLS = 4


class Stream:
    """Zipf-like rows, seeded: `numbers` are values, `values` what is measured of them."""

    def __init__(self, seed: int, rows: int, distinct: int = 300, skew: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        share = 1 / np.arange(1, distinct + 1) ** skew
        self.numbers = rng.choice(distinct, rows, p=share / share.sum()) + 1_000 * seed
        self.items = items_of([pl.Series(self.numbers)])
        self.cells = bucket_of(self.items, CELLS)
        self.values = rng.normal(size=(1, rows)).round(3)
        self.distinct, first, self.true = np.unique(self.items, return_index=True, return_counts=True)
        self.cell = self.cells[first]

    def into(self, kind: SketchKind) -> Sketch:
        made = kind.empty(CELLS, 1)
        for part in np.array_split(np.arange(self.items.size), 3):
            made.summarize(self.cells[part], self.items[part], self.values[:, part])
        return made


every_kind = pytest.mark.parametrize("kind", SUMMARIES, ids=lambda k: k.name)
streams = st.builds(Stream, st.integers(0, 50), st.integers(0, 3_000), st.integers(1, 300), st.floats(0, 2))


def counts_and_sums(made: Sketch, stream: Stream) -> np.ndarray:
    found = [made.estimate(stream.cell, stream.distinct)]
    if "sum" in kind_of(made).measures:
        found.append(made.estimate(stream.cell, stream.distinct, "sum"))
    return np.array(found)


def kind_of(made: Sketch) -> SketchKind:
    return next(k for k in SUMMARIES if type(k.empty(1, 1)) is type(made))


@pytest.mark.parametrize("kind", [k for k in SUMMARIES if k.name != "sample"], ids=lambda k: k.name)
@settings(max_examples=examples(15), phases=QUICK)
@given(streams, streams)
def test_what_is_added_and_subtracted_again_leaves_what_was_there(kind, one, two):
    made, other = one.into(kind), two.into(kind)
    before, confidence = counts_and_sums(made, one), made.confidence()
    made.add(other)
    assert (made.counts == np.bincount(np.r_[one.cells, two.cells], minlength=CELLS)).all()
    made.subtract(other)
    np.testing.assert_allclose(counts_and_sums(made, one), before, atol=1e-6)
    np.testing.assert_allclose(made.confidence(), confidence)
    assert (made.counts == np.bincount(one.cells, minlength=CELLS)).all()


@settings(max_examples=examples(15), phases=QUICK)
@given(streams, streams)
def test_a_sample_that_is_added_and_subtracted_again_is_a_part_of_what_it_was(one, two):
    kind = kind_named("sample")
    made, other = one.into(kind), two.into(kind)
    before = made.copy()
    made.add(other)
    made.subtract(other)
    assert (made.counts == before.counts).all()
    assert set(made._priority.tolist()) <= set(before._priority.tolist())
    whole = made._below == before._below  # the threshold did not come down: nothing was lost
    assert (np.bincount(made._cell, minlength=CELLS)[whole] == np.bincount(before._cell, minlength=CELLS)[whole]).all()


@every_kind
@settings(max_examples=examples(15), phases=QUICK)
@given(streams)
def test_memory_stays_under_what_the_kind_declares(kind, stream):
    made = stream.into(kind)
    assert made.bytes <= kind.bytes(CELLS, 1)
    made.add(made.copy())
    assert made.bytes <= kind.bytes(CELLS, 1)


@every_kind
@settings(max_examples=examples(10), phases=QUICK)
@given(streams)
def test_a_copy_is_another_one(kind, stream):
    made = stream.into(kind)
    copy = made.copy()
    before = counts_and_sums(made, stream)
    np.testing.assert_allclose(counts_and_sums(copy, stream), before)
    copy.summarize(stream.cells, stream.items, stream.values)
    np.testing.assert_allclose(counts_and_sums(made, stream), before)


@settings(max_examples=examples(12), phases=QUICK)
@given(streams)
def test_count_sketch_is_off_by_more_than_it_says_in_few_cases(stream):
    made = stream.into(kind_named("count_sketch"))
    f2 = np.bincount(stream.cell, stream.true.astype(float) ** 2, minlength=CELLS)[stream.cell] - stream.true**2.0
    off = np.abs(made.estimate(stream.cell, stream.distinct) - stream.true)
    # 5% is the chance of each; items share their counters, so that a stream may have some more
    assert (off > np.sqrt(8 * f2 / count_sketch.WIDTH) + 1e-9).mean() <= 0.15 if off.size >= 50 else True


def test_count_sketch_is_off_by_more_than_it_says_in_five_percent_of_cases_over_many_streams():
    over = []
    for seed in range(60):
        stream = Stream(seed, 2_000, 200, 0.8)
        made = stream.into(kind_named("count_sketch"))
        f2 = np.bincount(stream.cell, stream.true.astype(float) ** 2, minlength=CELLS)[stream.cell] - stream.true**2.0
        over.append(
            np.abs(made.estimate(stream.cell, stream.distinct) - stream.true) > np.sqrt(8 * f2 / count_sketch.WIDTH)
        )
    assert 0 < np.concatenate(over).mean() < 0.05


@settings(max_examples=examples(12), phases=QUICK)
@given(streams)
def test_confidence_of_a_count_sketch_is_near_the_variance_it_stands_for(stream):
    made = stream.into(kind_named("count_sketch"))
    true = np.bincount(stream.cell, stream.true.astype(float) ** 2, minlength=CELLS) / count_sketch.WIDTH
    # a row's sum of squares has variance of at most 2 F2 F2 / WIDTH, the median of three less
    assert (np.abs(made.confidence() - true) <= true * 6 * np.sqrt(2 / count_sketch.WIDTH) + 1e-9).all()


@settings(max_examples=examples(12), phases=QUICK)
@given(streams)
def test_histogram_is_never_too_low_and_too_high_by_no_more_than_its_share(stream):
    made = stream.into(kind_named("histogram"))
    over = made.estimate(stream.cell, stream.distinct) - stream.true
    assert (over >= 0).all()
    if stream.distinct.size >= 50:
        others = made.counts[stream.cell] - stream.true
        assert (over <= 4 * others / histogram.BINS).mean() >= 0.6  # Markov: 3/4 on average over hashes


@settings(max_examples=examples(12), phases=QUICK)
@given(streams)
def test_sample_keeps_the_bound_of_hoeffding(stream):
    made = stream.into(kind_named("sample"))
    off = np.abs(made.estimate(stream.cell, stream.distinct) - stream.true)
    rows = made.counts[stream.cell]
    assert (off[rows <= sample.ROOM] < 1e-9).all()
    # in each of 4 cells 300 items at most: a chance of 1e-6 for each is one of a thousand for all
    assert (off <= rows * np.sqrt(np.log(2e6) / (2 * sample.ROOM))).all()


@settings(max_examples=examples(12), phases=QUICK)
@given(streams)
def test_aggregate_summary_is_exact_of_a_cell(stream):
    made = stream.into(kind_named("aggregate"))
    for cell in range(CELLS):
        here = stream.values[0, stream.cells == cell]
        asked = np.array([cell]), np.zeros(1, np.uint64)
        assert made.estimate(*asked)[0] == here.size
        np.testing.assert_allclose(made.estimate(*asked, "sum")[0], here.sum(), atol=1e-6)
        for measure, true in (("min", np.min), ("max", np.max)):
            found = made.estimate(*asked, measure)[0]
            assert np.isnan(found) if not here.size else found == true(here)


@every_kind
def test_a_measured_null_counts_as_a_row_and_adds_nothing(kind):
    made = kind.empty(1, 1)
    items = np.array([7, 7, 7], np.uint64)
    made.summarize(np.zeros(3, np.int64), items, np.array([[1.0, np.nan, 5.0]]))
    assert made.counts.tolist() == [3]
    if "sum" in kind.measures:
        one = np.zeros(1, np.int64), items[:1]
        assert made.estimate(*one, "sum")[0] == 6
        assert (made.estimate(*one, "min")[0], made.estimate(*one, "max")[0]) == (1, 5)


@pytest.mark.parametrize("kind", [k for k in SUMMARIES if "sum" not in k.measures], ids=lambda k: k.name)
def test_a_measure_a_kind_has_not_is_refused(kind):
    with pytest.raises(ValueError, match="has no sum"):
        kind.empty(1, 1).estimate(np.zeros(1, np.int64), np.zeros(1, np.uint64), "sum")
