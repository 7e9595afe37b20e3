"""Partial results in arrays give what those in frames give, whatever comes, joins and goes."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from jupyter_stream.aggregates import find
from jupyter_stream.partials.cell_arrays import CellArrays
from jupyter_stream.partials.cells import Cells
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.store import SLOT
from jupyter_stream.windowed.session_extents import SESSION, SessionsGone, SessionsJoined, SessionsPicked

VALUES = st.none() | st.sampled_from([0, 1, -3, 2**62, -(2**63), 2**63 - 1])
FLOATS = st.none() | st.sampled_from([0.5, -2.25, float("nan"), float("inf"), float("-inf")])
ROWS = st.lists(st.tuples(st.integers(0, 6), VALUES, FLOATS, st.none() | st.booleans()), max_size=12)


def calls() -> list[GroupAggregate]:
    """Of every dense kind, with and without FILTER."""
    found = []
    for i, (name, types, inputs, where) in enumerate(
        [("count", [], (), None), ("count", [], (), 2), ("sum", [pl.Int64()], (0,), None), ("avg", [pl.Int64()], (0,), 2),
         ("min", [pl.Int64()], (0,), None), ("max", [pl.Float64()], (1,), None), ("min", [pl.Float64()], (1,), 2),
         ("sum", [pl.Float64()], (1,), None)]
    ):  # fmt: skip
        function = find(name)
        assert function is not None
        _, dtype = function.resolve(types, False)
        found.append(GroupAggregate(function, function.form(types, False, ()), inputs, where, dtype, f"a{i}"))
    return found


@given(st.lists(st.tuples(st.sampled_from(["rows", "rows", "join", "gone"]), ROWS, st.integers(0, 6)), max_size=8))
def test_arrays_answer_as_frames_do(steps: list[tuple[str, list[tuple[object, ...]], int]]) -> None:
    stores = CellArrays(calls(), SESSION), Cells(calls(), SESSION)
    live: set[int] = set()
    for what, rows, number in steps:
        at = np.array([r[0] for r in rows], np.int64)
        inputs = [
            pl.Series([r[i] for r in rows], dtype=t) for i, t in ((1, pl.Int64()), (2, pl.Float64()), (3, pl.Boolean()))
        ]
        one = np.array([number])
        change = None
        if what == "rows" and rows:
            live.update(at.tolist())
            for store in stores:
                store.add(np.full(at.size, 5), at, pl.Series(at), inputs)
        elif what == "gone" and number in live:
            live.discard(number)
            change = SessionsGone(one, every=not live)
        elif what == "join" and len(live) > 1 and number in live:
            live.discard(number)
            change = SessionsJoined(one, np.array([min(live)]))
        if change is not None:
            for store in stores:
                store.change(change)
        stores[0].check()
        asked = SessionsPicked(np.array(sorted(live), np.int64))
        (found, lost), (wanted, beyond) = (next(store.read(asked, (SESSION, SLOT))) for store in stores)
        assert_frame_equal(found, wanted.sort(SESSION))
        assert sorted(lost.rows()) == sorted(beyond.rows())
        assert stores[0].rows == len(live) == stores[0].held().height
