"""What tutorial 3 measures with: its disorder is what it says, its punctuations are true, both sides get the same rows."""

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tutorials"))
from arrivals import SECOND, Arrivals, band, blocks, cut, link, second_by_second, skewed
from drawing import Chart
from measuring import framed, merged, ours, theirs
from ordered import BufferAndSort, Rows

from jupyter_stream.windows import TimeWindow

DISORDERS = {"band": band(30, 40, 0.35, 3.2, seed=3), "blocks": blocks(5, 20, 3, seed=4)}
STREAM = "CREATE STREAM {} (ts BIGINT, value DOUBLE) ORDER BY ts SOURCE 'frame://sample';"


@pytest.mark.parametrize("arrivals", DISORDERS.values(), ids=DISORDERS)
def test_no_row_breaks_a_punctuation_and_none_comes_later_than_it_must(arrivals: Arrivals):
    rows = arrivals.punctuated(range(0, 30 * SECOND, SECOND))
    promised, before = -1, 0
    for ts, _value, punctuation, _clock in rows.iter_rows():
        if punctuation is not None:
            held = sum(t < punctuation for t in arrivals.rows.ts.tolist())
            assert before >= held
            promised = punctuation
        else:
            assert ts >= promised
            before += 1
    assert rows["clock"].is_sorted()
    assert sum(batch["rows"].height for _, batch in cut(rows)) == rows.height
    last_row = rows.with_row_index().filter(pl.col("ts").is_not_null() & (pl.col("ts") < 5 * SECOND))["index"].max()
    said = rows.with_row_index().filter(pl.col("punctuation") == 5 * SECOND)["index"][0]
    between = rows[last_row + 1 : said]
    assert between["clock"].n_unique() <= 1 and (between["clock"] == rows["clock"][last_row]).all()


def test_disorder_is_within_its_bounds():
    assert 0 < DISORDERS["band"].disorder <= 3.2
    assert 10 < DISORDERS["blocks"].disorder < 20


@pytest.mark.parametrize("percent", [1, 5, 9])
def test_skewed_packets_are_in_groups_of_three_sizes(percent: int):
    rows = skewed(10, 250, percent / 100, lives=10, seed=5)
    _, sizes = np.unique(rows.value, return_counts=True)
    alone = percent * rows.ts.size // 100
    assert (sizes == 1).sum() >= alone
    assert sizes[(sizes > 1) & (sizes < 60)].sum() == pytest.approx(0.2 * rows.ts.size, rel=0.02)
    assert sizes[sizes > 200].mean() == pytest.approx(300, rel=0.05)


def test_links_send_every_row_once_and_some_of_them_late():
    links = {"a": link(5, 1_000, 10, 1), "b": link(5, 2_500, 10, 2)}
    seen: dict[str, list[Rows]] = {"a": [], "b": []}
    for clock, sent in second_by_second(links, {}):
        for name, rows in sent.items():
            assert (rows.ts // SECOND * SECOND == clock).all()
            seen[name].append(rows)
    for name, rows in links.items():
        assert (Rows.concat(seen[name]).ts == rows.ts).all()
    late = dict(second_by_second(links, {"b": 2}))
    assert "b" not in late[SECOND] and late[2 * SECOND]["b"].ts[0] == 0


@pytest.mark.parametrize("strategy", [None, "wid", "paned-wid", "adapt-wid", "rows"])
def test_both_sides_answer_alike_where_slack_suffices(strategy):
    arrivals, window = DISORDERS["band"], TimeWindow(range=6 * SECOND, slide=2 * SECOND)
    sort = BufferAndSort(window, np.max, 4 * SECOND)
    theirs_ = theirs(sort.take, lambda: sort.bytes, arrivals.feed(7))
    told = arrivals.punctuated(range(0, 30 * SECOND, SECOND))
    ours_ = ours(
        "CREATE STREAM rows (ts BIGINT, value DOUBLE, punctuation BIGINT) ORDER BY ts SOURCE 'frame://told'"
        " WITH (punctuation = 'punctuation')",
        "SELECT max(value) AS answer FROM rows [RANGE 6 SECONDS SLIDE 2 SECONDS]",
        {"told": told.drop("clock")},
        cut(told),
        strategy,
    )
    both = set(ours_.answers) & set(theirs_.answers)
    assert len(both) >= 10
    assert all(ours_.answers[end] == theirs_.answers[end] for end in both)
    assert all(ours_.given[end] <= theirs_.given[end] for end in both)
    assert ours_.peak > 0 and theirs_.peak > 0 and ours_.wait(both) < theirs_.wait(both)


def test_a_merge_holds_what_the_skew_is_and_ours_does_not():
    links = {"a": link(20, 5_000, 4, 1), "b": link(20, 5_000, 4, 2)}
    sample = {"sample": framed(links["a"].only(slice(0, 1)))}
    count = "SELECT value, count(*) AS n FROM {} [RANGE 5 SECONDS TUMBLING] GROUP BY value"
    held = []
    for skew in (0, 8):
        feed = second_by_second(links, {"b": skew})
        frames = ((c, {n: framed(r) for n, r in s.items()}) for c, s in second_by_second(links, {"b": skew}))
        a = merged(STREAM.format("rows"), count.format("rows"), sample, ["a", "b"], feed)
        b = ours(STREAM.format("a") + STREAM.format("b"), count.format("a UNION b"), sample, frames)
        held.append((a.peak, b.peak))
    assert held[1][0] - held[0][0] >= 7 * 200 * 16  # rows of 16 bytes, 200 a second
    assert held[1][1] - held[0][1] < 1_000


def test_a_chart_grows_point_by_point():
    chart = Chart(["ours", "theirs"], "x, s", "y, s")
    chart.add("ours", 1, 10)
    chart.add("theirs", 2, 20, "late")
    assert chart.change["data"] == {
        "ours": {"x": [1.0], "y": [10.0], "label": [""]},
        "theirs": {"x": [2.0], "y": [20.0], "label": ["late"]},
    }
    low, high = chart.change["ranges"]["y range"]
    assert low < 0 and high > 20
    assert "x range" not in Chart(["a"], "x", "y", log="x").change.get("ranges", {})
