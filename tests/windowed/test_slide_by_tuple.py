"""Slide-by-tuple windows on their own: every registered aggregate, what is kept and when it is let go, folds over ranges."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream import aggregates
from jupyter_stream.aggregates.framed import Framed
from jupyter_stream.arrays.range_fold import folds, sums
from jupyter_stream.core.messages import BROKEN, LATE_ID, TS, Batch, Message, Missed, Punctuation
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.functions import resolve
from jupyter_stream.functions.expression import Column, Literal
from jupyter_stream.partials.group_aggregate import GroupAggregate, GroupBy
from jupyter_stream.windowed.extent_aggregate import ExtentAggregate
from jupyter_stream.windowed.tuple_extents import slide_by_tuple
from jupyter_stream.windows import TupleWindow
from tests.tiers import examples, slow, thinned

V = Column("v", pl.Int64())
SMALL = resolve("<", [V, Literal(3, pl.Int64())])


def registered() -> list[GroupAggregate]:
    """Every aggregate that takes one number, with and without FILTER and DISTINCT."""
    calls = []
    for function, distinct, where in itertools.product(aggregates.AGGREGATES, (False, True), (None, 1)):
        if function.constant_from is not None:
            continue
        try:
            types, dtype = function.resolve([pl.Int64()], distinct)
            form = function.form(types, distinct, ())
        except aggregates.BadArguments:
            continue
        calls.append(GroupAggregate(function, form, (0,), where, dtype, f"a{len(calls)}"))
    return calls


REGISTERED = registered()
rows = st.lists(
    st.tuples(st.integers(0, 30), st.sampled_from([None, 1, 2]), st.integers(-5, 5) | st.none()), max_size=25
)


def frame(given_rows: list[tuple]) -> pl.DataFrame:
    return pl.DataFrame(given_rows, schema={TS: pl.Int64, "k": pl.Int64, "v": pl.Int64}, orient="row")


def operator(window: TupleWindow, calls: list[GroupAggregate], grouped: bool = True) -> ExtentAggregate:
    keys = (("k", Column("k", pl.Int64()), pl.Int64()),) if grouped else ()
    return slide_by_tuple(window, GroupBy(keys, (V, SMALL), tuple(calls), integer_time=True))


def answers(messages: list[Message]) -> pl.DataFrame:
    return pl.concat([m.frame for m in messages if isinstance(m, Batch)])


@pytest.mark.parametrize("call", thinned(REGISTERED, 9), ids=lambda c: f"{c.function.name}-{c.name}")
@settings(max_examples=examples(5))  # for each aggregate; the oracle draws many more
@given(rows, st.integers(1, 12))
def test_every_aggregate_is_what_it_is_over_the_rows_of_the_extent(
    call: GroupAggregate, given_rows: list[tuple], span: int
) -> None:
    whole = frame(given_rows)
    held = operator(TupleWindow(span), [call])
    messages = [*held.on_batch(0, Batch(whole)), *held.on_punctuation(0, Punctuation(MAX_TIME))]
    framed = Framed(call.function, call.form, call.dtype)
    expected = []
    for end in sorted(whole.get_column(TS).to_list()):
        rows_of = whole.filter((pl.col(TS) > end - span) & (pl.col(TS) <= end))
        used = rows_of.filter(pl.col("v") < 3) if call.where is not None else rows_of
        partials = framed.update(used, ["k"])
        found = dict(framed.finish(framed.merge(partials, ["k"]), ["k"])[0].select("k", "v").rows())
        expected += [(end, k, found.get(k, framed.of_nothing())) for k in rows_of.get_column("k").unique().to_list()]
    given_back = answers(messages).select(TS, "k", call.name).rows() if expected else []
    by = lambda row: (row[0], row[1] is not None, row[1] or 0)  # noqa: E731
    for got, wanted in zip(sorted(given_back, key=by), sorted(expected, key=by), strict=True):
        assert got[:2] == wanted[:2]
        value = list(wanted[2]) if wanted[2] == () else wanted[2]
        assert got[2] == (pytest.approx(value) if isinstance(value, float) else value)


@slow
def test_nothing_is_kept_after_the_end() -> None:
    held = operator(TupleWindow(10, 3), REGISTERED)
    list(held.on_batch(0, Batch(frame([(i, i % 7, i) for i in range(500)]))))
    assert held.control.bytes > 10_000
    list(held.on_punctuation(0, Punctuation(MAX_TIME)))
    assert held.control.extra["partials"] == 0 and held.control.extra["live_groups"] == 0
    held.check()
    assert [t.bytes for t in held.synopses if t.name != "key slots"] == [0] * (len(held.synopses) - 1)


@slow
@pytest.mark.parametrize("window", [TupleWindow(100), TupleWindow(100, 5), TupleWindow(100, 5, by_rank=True)])
def test_what_is_kept_is_what_range_and_disorder_hold(window: TupleWindow) -> None:
    held = operator(window, [c for c in REGISTERED if c.function.name in ("count", "max", "var_samp")])
    most = 0
    for start in range(0, 6_000, 50):
        list(held.on_batch(0, Batch(frame([(start + i // 2, i % 3, i) for i in range(100)]))))
        list(held.on_punctuation(0, Punctuation(start + 30)))
        held.check()
        most = max(most, int(held.control.extra["partials"]))
    assert most <= 3 * (100 + 50 + 30)
    assert held.control.peak_bytes < 500_000


def test_late_rows_are_told_with_the_final_extents_they_missed() -> None:
    held = operator(TupleWindow(10), REGISTERED[:1], grouped=False)
    list(held.on_batch(0, Batch(frame([(t, 1, 1) for t in (1, 5, 5, 12, 20)]))))
    list(held.on_punctuation(0, Punctuation(13)))
    late = frame([(4, 1, 1), (12, 1, 1), (3, 1, 1)]).with_columns(
        pl.Series(BROKEN, [13, 13, 13]), pl.Series(LATE_ID, [6, 7, 8])
    )
    told = [m for m in held.on_batch(0, Batch(late)) if isinstance(m, Missed)]
    assert [(m.late_ids.tolist(), None if m.missed is None else m.missed.tolist()) for m in told] == [
        ([6, 7], [3, 1]),  # ending at 5, 5 and 12; at 12
        ([8], None),  # a RANGE behind
    ]
    final = answers(list(held.on_punctuation(0, Punctuation(MAX_TIME))))
    assert final.select("$window_end", "a0").rows() == [(20, 2)]


@given(
    st.lists(st.floats(-100, 100) | st.just(float("nan")), min_size=1, max_size=60),
    st.data(),
    st.sampled_from(["minimum", "maximum", "fmin", "add"]),
)
def test_folds_over_ranges_are_the_folds_of_their_values(values: list, data: st.DataObject, name: str) -> None:
    fold, array = getattr(np, name), np.array(values)
    seam = data.draw(st.integers(0, array.size - 1))
    bounds = st.integers(seam + 1, array.size).flatmap(lambda s: st.tuples(st.integers(0, s - 1), st.just(s)))
    ranges = data.draw(st.lists(bounds, min_size=1, max_size=20))
    first, stop = np.array(ranges).T
    expected = [fold.reduce(array[a:b]) for a, b in ranges]
    np.testing.assert_allclose(folds(array, fold, first, stop, seam), expected, atol=1e-9)
    whole = np.arange(array.size) * 7 - 3
    assert sums(whole, first, stop).tolist() == [int(whole[a:b].sum()) for a, b in ranges]
