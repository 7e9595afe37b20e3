"""Rows found by key or by all their values: what is found is what brute force finds, and nothing else is looked at."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.core.messages import TS
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.relations.keyed_rows import KeyedRows
from tests.oracle.search import searching

SCHEMA = {"k": pl.String(), "x": pl.Float64()}
Row = tuple[str | None, float | None, int]

values = st.tuples(
    st.sampled_from((None, "a", "b", "")), st.sampled_from((None, 0.0, -0.0, float("nan"), 1.5)), st.integers(0, 9)
)


def frame_of(rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={**SCHEMA, TS: pl.Int64()}, orient="row")


def plain(row: Row) -> tuple[str | None, str]:
    """What equal rows have in common: zeros are equal, and so are NaNs."""
    return row[0], repr(None if row[1] is None else row[1] + 0.0)


@pytest.mark.parametrize("by_values", [True, False])
@searching
@given(data=st.data())
def test_rows_are_found_by_key_and_by_all_values(by_values: bool, data: st.DataObject) -> None:
    store, model = KeyedRows(SCHEMA, ["k"], by_values), dict[int, Row]()
    notes: dict[int, int] = {}
    for _ in range(data.draw(st.integers(1, 8))):
        rows = data.draw(st.lists(values, max_size=6))
        for number, row in zip(store.add(frame_of(rows)).tolist(), rows, strict=True):
            model[number], notes[number] = row, 0
        if model:
            some = np.array(sorted(data.draw(st.sets(st.sampled_from(sorted(model))))), np.int64)
            store.note(some, 7 * some)
            notes |= {int(n): 7 * int(n) for n in some}
            gone = sorted(data.draw(st.sets(st.sampled_from(sorted(model)))))
            store.remove(np.array(gone, np.int64))
            for number in gone:
                del model[number]
        store.check()
        asked = data.draw(st.lists(values, max_size=3))
        found = store.with_key(frame_of(asked))
        assert found.tolist() == sorted(n for n, row in model.items() if row[0] in [a[0] for a in asked])
        found = store.equal_to(frame_of(asked))
        equal = sorted(n for n, row in model.items() if plain(row) in [plain(a) for a in asked])
        assert found.tolist() == equal if by_values else set(equal) <= set(found.tolist())
        there, noted = store.at(found)
        assert [plain(row) for row in there.rows()] == [plain(model[n]) for n in found.tolist()]
        assert noted.tolist() == [notes[n] for n in found.tolist()]
        assert store.oldest == min((row[2] for row in model.values()), default=MAX_TIME)
        assert store.rows == len(model) and (store.bytes > 0) == bool(model)


def test_only_rows_of_the_key_are_looked_at() -> None:
    store = KeyedRows({"k": pl.Int64()}, ["k"])
    for start in range(0, 10_000, 100):
        store.add(pl.DataFrame({"k": range(start, start + 100), TS: [start] * 100}))
    assert store.with_key(pl.DataFrame({"k": [5, 5_005, 20_000]})).tolist() == [5, 5_005]
    assert store.looked == 2


def test_without_a_hash_of_their_values_rows_take_less_and_those_of_their_key_are_looked_through() -> None:
    rows = pl.DataFrame({"k": [1, 1, 2], "x": [1, 2, 1], TS: [0, 0, 0]})
    stores = [KeyedRows({"k": pl.Int64(), "x": pl.Int64()}, ["k"], by_values) for by_values in (True, False)]
    for store in stores:
        store.add(rows)
    assert [store.equal_to(rows[:1]).tolist() for store in stores] == [[0], [0, 1]]
    assert stores[1].bytes == stores[0].bytes - 16 * rows.height


def test_without_a_key_that_has_hashes_all_rows_are_found() -> None:
    store = KeyedRows({"l": pl.List(pl.Int64())}, ["l"])
    numbers = store.add(pl.DataFrame({"l": [[1], [2, 3]], TS: [0, 1]}))
    assert store.with_key(pl.DataFrame({"l": [[1]]})).tolist() == numbers.tolist()
    store.remove(numbers)
    assert store.bytes == 0
