"""`[RANGE d SLIDE s CUMULATE]`: extents that grow by a slide until the range is full, against their definition and the oracle."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.errors import QueryError
from jupyter_stream.session import Session
from jupyter_stream.windows import CumulateWindow
from tests.oracle import strategies
from tests.oracle.answer import answer
from tests.oracle.query import Query
from tests.oracle.running import Ran, assert_right
from tests.oracle.search import searching
from tests.oracle.windows import Growing

ROWS = {"rows": pl.DataFrame({"ts": [dt.datetime(2024, 1, 1)], "v": [1]})}
STRATEGIES = ("wid", "paned-wid", "adapt-wid", "rows")


@st.composite
def queries(draw: st.DrawFn, *, emit: bool = False) -> Query:
    query = draw(strategies.queries(emit=emit).filter(lambda q: q.window.range is not None))
    slide, origin = query.window.slide, query.window.origin
    window = Growing(slide * draw(st.integers(1, 5)), slide, origin, on=query.window.on)
    return replace(query, window=window)


@given(st.integers(1, 9), st.integers(1, 6), st.integers(-50, 50), st.lists(st.integers(-300, 300), min_size=1))
def test_a_time_is_in_the_extents_of_its_definition(slide: int, count: int, origin: int, ts: list[int]) -> None:
    window = CumulateWindow(slide * count, slide, origin)
    meant = Growing(slide * count, slide, origin)
    times = np.array(ts)
    first, last = window.extents_of(times)
    for t, low, high in zip(ts, first.tolist(), last.tolist(), strict=True):
        held = [end for end in meant.ends(t - 60, t + 120) if meant.holds(end, t)]
        assert [window.end(k) for k in range(low, high + 1)] == held
        assert window.last_extent(window.pane_of(t)) == high
    starts, _ = window.bounds(first)
    assert starts.tolist() == [meant.start(e) for e in window.ends(first).tolist()]
    assert starts.tolist() == [window.pane_start(window.first_pane(k)) for k in first.tolist()]
    assert window.first_panes(first).tolist() == [window.first_pane(k) for k in first.tolist()]


@searching
@given(st.data())
def test_answers_are_the_oracles_in_disorder_and_any_batches(data: st.DataObject) -> None:
    query = data.draw(queries())
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    strategy = data.draw(st.sampled_from((None, *STRATEGIES)))
    assert_right(query, answer(query), Ran(query, sizes, strategy=strategy), sizes)


@searching
@given(st.data())
def test_provisional_answers_are_the_oracles(data: st.DataObject) -> None:
    query = data.draw(queries(emit=True))
    expected = answer(query)
    ran = Ran(query)
    assert_right(query, expected, ran)
    assert len(ran.provisional) == sum(len(rows) for _, rows in expected.snapshots)


def test_flinks_spelling_says_the_same() -> None:
    with Session(ROWS) as session:
        session.execute("CREATE STREAM s ORDER BY ts SOURCE 'frame://rows'")
        ours = session.execute("EXPLAIN SELECT sum(v) FROM s [RANGE 1 DAY SLIDE 1 HOUR CUMULATE]")[0]
        text = "EXPLAIN SELECT sum(v) FROM CUMULATE(TABLE s, DESCRIPTOR(ts), INTERVAL '1' HOUR, INTERVAL '1' DAY)"
        assert str(session.execute(text)[0]) == str(ours)


@pytest.mark.parametrize(
    ("window", "said"),
    [
        ("[RANGE 1 DAY SLIDE 7 HOURS CUMULATE]", "needs a RANGE that is a whole number of slides"),
        ("[RANGE 1 DAY CUMULATE]", "needs RANGE and SLIDE over time"),
        ("[RANGE ALL SLIDE 1 DAY CUMULATE]", "needs RANGE and SLIDE over time"),
        ("[RANGE 1 DAY SLIDE 1 HOUR CUMULATE] a JOIN s [RANGE 1 DAY] b ON a.v = b.v", "a join under"),
    ],
)
def test_what_it_cannot_be_is_said(window: str, said: str) -> None:
    with Session(ROWS) as session:
        session.execute("CREATE STREAM s ORDER BY ts SOURCE 'frame://rows'")
        with pytest.raises(QueryError, match=said):
            session.execute(f"SELECT count(*) FROM s {window}")
