import datetime as dt

import pandas as pd
import pytest

import jupyter_stream
from jupyter_stream.views.chart import picture
from jupyter_stream.views.colours import Colours
from jupyter_stream.views.options import ViewOptions

START = dt.datetime(2024, 1, 1, 12)
WINDOW = "[RANGE 10 SECONDS SLIDE 5 SECONDS]"


opened = []


@pytest.fixture(autouse=True)
def closed():
    yield
    while opened:
        opened.pop().close()


def query(select, rows, extra=""):
    """A query over (key, value, second) in that order of arrival, run to its end, and a second one over all rows in order."""
    frames = [
        pd.DataFrame(
            {
                "k": [r[0] for r in part],
                "v": [r[1] for r in part],
                "at": [START + dt.timedelta(seconds=r[2]) for r in part],
            }
        ).astype({"v": "float64"})
        for part in (rows, sorted(rows, key=lambda r: r[2]))
    ]
    session = jupyter_stream.Session(namespace={"came": frames[0], "sorted_": frames[1]})
    opened.append(session)
    found = []
    for name, frame in (("a", "came"), ("b", "sorted_")):
        session.execute(f"CREATE STREAM {name} (k STRING, v DOUBLE, at TIMESTAMP) ORDER BY at SOURCE 'frame://{frame}'")
        one = session.execute(f"SELECT window_end, k, {select} FROM {name} {WINDOW} {extra}", name=f"q{name}")[0]
        assert one.wait(200)
        found.append(one)
    return found


ROWS = [("a", 1, 1), ("b", 2, 2), ("a", 3, 3), ("b", 4, 12), ("a", 5, 25), ("a", 9, 4), ("b", 7, 31)]


def test_what_the_answer_would_have_been_is_what_it_is_when_the_row_comes_in_time():
    select = "count(*) AS n, count(v) AS c, sum(v) AS s, min(v) AS low, max(v) AS high, avg(v) AS m"
    late, whole = query(select, ROWS, "GROUP BY k")
    missed = late.snapshot().late_rows
    assert missed.rows["v"].to_list() == [9.0, 9.0]
    assert missed.came.to_list() == [21_000_000] * 2
    ends = [START + dt.timedelta(seconds=s) for s in (5, 10)]
    assert missed.at.cast(late.to_polars()["window_end"].dtype).to_list() == ends
    exact = whole.to_polars().filter(whole.to_polars()["k"] == "a").sort("window_end").head(2)
    assert missed.would.to_dicts() == exact.select(missed.would.columns).to_dicts()
    assert missed.given.to_dicts() != missed.would.to_dicts()


def test_an_answer_that_was_never_given_would_have_been_the_row_alone():
    late, whole = query("count(*) AS n, sum(v) AS s", [("a", 1, 1), ("a", 5, 25), ("c", 9, 4)], "GROUP BY k")
    missed = late.snapshot().late_rows
    assert missed.given["n"].to_list() == [None, None]
    assert missed.would.to_dicts() == [{"n": 1, "s": 9.0}] * 2
    assert whole.to_polars().filter(whole.to_polars()["k"] == "c").height == 2


def test_what_takes_rows_that_are_gone_is_said_to_be_unknown():
    late, _ = query("median(v) AS med, avg(v) AS m, 2 * sum(v) AS twice", ROWS, "GROUP BY k")
    missed = late.snapshot().late_rows
    assert missed.would.null_count().row(0) == (2, 2, 2)
    assert "count of the same values" in missed.why["m"] and "no longer kept" in missed.why["med"]


def test_a_late_row_that_where_leaves_out_missed_nothing():
    late, _ = query("count(*) AS n", ROWS, "WHERE v < 9 GROUP BY k")
    assert late.snapshot().late_rows is None


def test_having_makes_an_answer_that_is_not_there_unknown():
    late, _ = query("count(*) AS n", ROWS, "GROUP BY k HAVING count(*) > 2")
    missed = late.snapshot().late_rows
    assert missed is None or missed.would["n"].to_list() == [None, None]


@pytest.mark.parametrize("chart", ["line", "area", "bar", "scatter", "heatmap"])
@pytest.mark.parametrize("multiples", [False, True])
def test_a_cross_stands_on_the_answer_missed_and_says_what_it_would_have_been(chart, multiples):
    if chart == "heatmap" and multiples:
        return
    late, _ = query("count(*) AS n, max(v) AS high", ROWS, "GROUP BY k")
    options = ViewOptions(chart=chart, x="window_end", y="high", multiples=multiples, by="k")
    drawn = picture(late.snapshot(), options, Colours())
    layers = (drawn if not multiples else dict(drawn.panels)["a"]).layers
    cross = layers[-1]
    assert cross.kind == "late" and cross.columns["late"].tolist() == [0, 1]
    seconds = [(x / 1000 - START.replace(tzinfo=dt.UTC).timestamp()) for x in cross.columns["x"]]
    assert seconds == [5, 10]
    assert chart in ("heatmap", "area") or cross.columns["y"].tolist() == [3, 3]
    said = dict(zip(drawn.late.names, (column[0] for column in drawn.late.columns), strict=True))
    assert said["came"] == "21 s late" and said["v"] == "9.0"
    assert said["high"] == "3.0, would have been 9.0"
