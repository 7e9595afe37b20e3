"""The kernel engine against the oracle: any stream, any window with SLIDE, any disorder, any batch split."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.oracle import strategies
from tests.oracle.answer import answer
from tests.oracle.compare import assert_same_bag, in_columns
from tests.oracle.running import Ran, assert_right, show
from tests.oracle.search import searching
from tests.oracle.strategies import Shape
from tests.tiers import slow

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure


@searching
@given(st.data())
def test_windows_give_what_the_oracle_gives(data: st.DataObject) -> None:
    query = data.draw(strategies.queries())
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    assert_right(query, answer(query), Ran(query, sizes), sizes)


@searching
@given(st.data())
def test_any_batch_split_gives_the_same_answer_and_the_same_late_rows(data: st.DataObject) -> None:
    query = data.draw(strategies.queries())
    expected = answer(query)
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    assert_right(query, expected, Ran(query, sizes), sizes)


@searching
@given(st.data())
def test_a_shuffle_within_the_punctuations_gives_the_same_answer(data: st.DataObject) -> None:
    query = data.draw(strategies.queries(late=False, order_free=True))
    other = replace(query, stream=data.draw(strategies.shuffled(query.stream)))
    first, second = Ran(query), Ran(other)
    assert first.late == second.late == []
    assert_right(query, answer(query), first)
    assert_same_bag(second.rows, first.rows, first.columns, show(other, None))


@searching
@given(st.data())
def test_a_union_gives_what_all_rows_in_one_stream_give(data: st.DataObject) -> None:
    query = data.draw(strategies.queries(late=False, order_free=True))
    parts = data.draw(strategies.dealt_out(query.stream, ("one", "two", "three")))
    papers = data.draw(st.booleans())
    window = replace(query.window, spelling="paper" if papers and not query.window.origin else "bracket", starts=False)
    query = replace(query, window=window)
    union = "(one ∪ (two UNION three))" if window.spelling == "paper" else "(one UNION two UNION three)"
    ran = Ran(replace(query, stream=replace(query.stream, name=union)), others=parts)
    assert ran.late == []
    assert_same_bag(ran.rows, in_columns(answer(query).rows, query.columns), query.columns, show(query, None))


@searching
@given(st.data())
def test_a_frame_gives_what_its_batches_give(data: st.DataObject) -> None:
    query = data.draw(strategies.queries())
    assert_right(query, answer(query), Ran(query, uri="frame://whole"))


@searching
@given(st.data())
def test_emit_every_gives_the_oracles_provisional_answers(data: st.DataObject) -> None:
    query = data.draw(strategies.queries(emit=True))
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    expected, ran = answer(query), Ran(query, sizes)
    assert_right(query, expected, ran, sizes)
    at = 0
    for instant, rows in expected.snapshots:
        came, at = ran.provisional[at : at + len(rows)], at + len(rows)
        about = f"the snapshot at {instant}\n{show(query, sizes)}"
        assert_same_bag(came, in_columns(rows, query.columns), query.columns, about)
    assert_same_bag(ran.provisional[at:], [], query.columns, f"after the last snapshot\n{show(query, sizes)}")


@slow
@searching
@given(st.data(), strategies.long_shapes)
def test_long_disordered_streams_of_many_groups(data: st.DataObject, shape: Shape) -> None:
    """Larger batches than the other properties draw, so that panes, slots and closings meet in one batch."""
    query = data.draw(strategies.long_queries(shape))
    assume(query.stream.rows)
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    assert_right(query, answer(query), Ran(query, sizes), sizes)
