"""The ordered baselines are honest: right where their slack suffices, wrong as the thesis says where it doesn't."""

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream import Session
from jupyter_stream.windows import TimeWindow

sys.path.insert(0, str(Path(__file__).parents[2] / "tutorials"))
from ordered import BufferAndSort, InOrderMerge, InOrderWindow, Rows

from tests.tiers import examples

SECOND = 1_000_000
WINDOW = TimeWindow(range=10 * SECOND, slide=5 * SECOND)


def disordered(rows: int = 2_000, band: int = 3 * SECOND, seed: int = 7) -> Rows:
    rng = np.random.default_rng(seed)
    arrival = np.arange(rows, dtype=np.int64) * 50_000 + 100 * SECOND
    return Rows(arrival - rng.integers(0, band, rows), rng.integers(0, 1000, rows).astype(float))


def ours(rows: Rows, watermark: int) -> dict[int, float]:
    frame = pl.DataFrame({"ts": rows.ts, "value": rows.value})
    session = Session(namespace={"frame": frame})
    session.execute(
        f"CREATE STREAM rows (ts BIGINT, value DOUBLE, WATERMARK FOR ts AS ts - INTERVAL {watermark} MICROSECONDS)"
        " SOURCE 'frame://frame'"
    )
    (query,) = session.execute("SELECT sum(value) AS total FROM rows [RANGE 10 SECONDS SLIDE 5 SECONDS]")
    query.wait(30)
    answers = query.to_polars()
    session.close()
    return dict(zip(answers["window_end"].to_list(), answers["total"].to_list(), strict=True))


def theirs(rows: Rows, slack: int, generous: bool = False, batch: int = 97) -> tuple[dict[int, float], BufferAndSort]:
    baseline = BufferAndSort(WINDOW, np.sum, slack, generous)
    answers = []
    for start in range(0, rows.ts.size, batch):
        answers += baseline.take(rows.only(slice(start, start + batch)))
    answers += baseline.end()
    assert len({end for end, _ in answers}) == len(answers)
    return dict(answers), baseline


@pytest.mark.parametrize("generous", [False, True])
def test_enough_slack_gives_our_answers(generous: bool):
    rows = disordered()
    answers, baseline = theirs(rows, 3 * SECOND, generous)
    assert baseline.late == 0
    assert answers == ours(rows, 3 * SECOND)


def test_too_little_consistent_slack_drops_rows_and_changes_answers():
    rows = disordered()
    exact = ours(rows, 3 * SECOND)
    answers, baseline = theirs(rows, SECOND)
    assert baseline.dropped == baseline.late > 0
    assert sum(answers.values()) < sum(exact.values())
    assert answers != exact


def test_generous_slack_is_a_watermark_as_long_as_the_slack():
    rows = disordered()
    answers, baseline = theirs(rows, SECOND, generous=True)
    assert baseline.late > 0
    assert answers == ours(rows, SECOND)


def test_generous_slack_keeps_more_than_consistent_slack():
    rows = disordered()
    assert sum(theirs(rows, SECOND, generous=True)[0].values()) > sum(theirs(rows, SECOND)[0].values())


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(1, 500), st.integers(0, 4), st.booleans())
def test_batching_changes_no_answer(batch: int, slack: int, generous: bool):
    rows = disordered(500)
    assert theirs(rows, slack * SECOND, generous, batch)[0] == theirs(rows, slack * SECOND, generous, 1)[0]


def test_buffer_holds_more_the_longer_it_waits():
    rows = disordered()
    held = []
    for slack in (0, SECOND, 3 * SECOND):
        baseline = BufferAndSort(WINDOW, np.sum, slack)
        baseline.take(rows)
        held.append(baseline.bytes)
    assert held == sorted(held) and held[0] < held[-1]


def test_merge_gives_all_rows_of_all_inputs_in_order():
    left, right = disordered(seed=1).in_order(), disordered(seed=2).in_order()
    merge, parts = InOrderMerge(2), []
    for start in range(0, 2_000, 250):
        parts.append(merge.take(0, left.only(slice(start, start + 250))))
        if start >= 500:
            parts.append(merge.take(1, right.only(slice(start - 500, start - 250))))
    parts.append(merge.take(1, right.only(slice(1_500, None))))
    parts.append(merge.end())
    merged = Rows.concat(parts)
    assert (np.diff(merged.ts) >= 0).all()
    assert sorted(merged.ts.tolist()) == sorted([*left.ts.tolist(), *right.ts.tolist()])
    assert merge.bytes == 0


def test_merge_holds_what_the_slower_input_has_not_reached():
    rows = disordered(1_000).in_order()
    merge = InOrderMerge(2)
    merge.take(0, rows)
    assert merge.bytes == rows.bytes


def test_merged_inputs_give_the_answer_of_their_union():
    left, right = disordered(seed=1).in_order(), disordered(seed=2).in_order()
    merge, window, answers = InOrderMerge(2), InOrderWindow(WINDOW, np.sum), []
    for start in range(0, 2_000, 100):
        for number, rows in enumerate((left, right)):
            ready = merge.take(number, rows.only(slice(start, start + 100)))
            answers += window.take(ready, merge.reached)
    answers += window.take(merge.end(), 2**62)
    assert dict(answers) == ours(Rows.concat([left, right]), 200 * SECOND)


def test_merge_refuses_an_input_out_of_order():
    with pytest.raises(ValueError, match="input 1 is out of order"):
        InOrderMerge(2).take(1, disordered())
