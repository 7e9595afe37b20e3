"""Items are the same for the same value, whatever batch, type of integer or order it comes in."""

from datetime import date, datetime

import numpy as np
import polars as pl
import pytest

from jupyter_stream.summaries.hashing import bucket_of, items_of


@pytest.mark.parametrize(
    "values",
    [
        pl.Series([3, 1, 3, None, 1]),
        pl.Series(["b", "a", "b", None, "a"]),
        pl.Series(["b", "a", "b", None, "a"], dtype=pl.Categorical),
        pl.Series([0.5, float("nan"), 0.5, None, float("nan")]),
        pl.Series([True, False, True, None, False]),
        pl.Series([date(2020, 1, 1), date(2021, 1, 1), date(2020, 1, 1), None, date(2021, 1, 1)]),
        pl.Series([datetime(2020, 1, 1), datetime(2021, 1, 1), datetime(2020, 1, 1), None, datetime(2021, 1, 1)]),
    ],
    ids=lambda s: str(s.dtype),
)
def test_equal_values_have_equal_items_and_others_have_not(values):
    items = items_of([values])
    assert items[0] == items[2] and items[1] == items[4]
    assert len({*items.tolist()}) == 3
    for place in range(5):
        assert items_of([values.slice(place, 1)])[0] == items[place]
    assert items_of([values.clear()]).size == 0


def test_zero_is_minus_zero_and_an_integer_is_itself_in_every_width():
    assert items_of([pl.Series([0.0])])[0] == items_of([pl.Series([-0.0])])[0]
    found = {int(items_of([pl.Series([5], dtype=t)])[0]) for t in (pl.Int8, pl.Int32, pl.UInt16, pl.Int64)}
    assert len(found) == 1


def test_the_hash_of_a_text_is_the_same_in_every_version():
    items = items_of([pl.Series(["rare", "", "fréquent"])])
    assert items.tolist() == [0x539BE86F45D996F5, 0x8AEBC9AF52CBD116, 0x1AF66799D2691BD7]


def test_composite_attributes_depend_on_the_order_of_their_columns():
    one, two = pl.Series(["JFK", "LAX"]), pl.Series(["LAX", "JFK"])
    both = items_of([one, two])
    assert both[0] != both[1]
    assert both[0] == items_of([two, one])[1]


def test_buckets_share_items_evenly():
    buckets = bucket_of(items_of([pl.Series(np.arange(64_000))]), 64)
    assert np.bincount(buckets, minlength=64).min() > 850
    assert bucket_of(items_of([pl.Series([1, 2])]), 1).tolist() == [0, 0]
