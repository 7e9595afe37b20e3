"""What a view is told of a real query: how many rows there are in all, how far apart its windows are, what they are rows of."""

import datetime as dt

import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.views import ViewOptions
from jupyter_stream.views.chart import picture
from jupyter_stream.views.colours import Colours
from tests.waiting import PATIENCE

START = dt.datetime(2024, 1, 1)


@pytest.fixture(scope="module")
def session():
    rows = pl.DataFrame(
        {
            "ts": [START + dt.timedelta(seconds=i) for i in range(3096)],
            "k": [i % 1548 for i in range(3096)],
            "v": range(3096),
        }
    )
    with Session({"rows": rows.with_columns(pl.col("ts").cast(pl.Datetime("us")))}) as made:
        made.execute("CREATE STREAM s (ts TIMESTAMP, k BIGINT, v BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        yield made


def shown(session, text, **options):
    (query,) = session.execute(text)
    assert query.wait(PATIENCE)
    snapshot = query.snapshot()
    return snapshot, picture(snapshot, ViewOptions(**options), Colours())


def test_a_relation_is_counted_and_ranked_as_a_whole(session):
    snapshot, drawn = shown(session, "SELECT k, max(v) AS v FROM s GROUP BY k", chart="table", top=1, y="v")
    assert snapshot.total == snapshot.rows.height == 1548
    assert drawn.rows.columns == (["1547"], ["3095"])
    assert drawn.note == "showing 1 of 1,548, those with the largest v"


def test_a_streams_rows_are_counted_beyond_those_that_are_looked_at(session):
    snapshot, drawn = shown(session, "SELECT * FROM s")
    assert (snapshot.total, snapshot.rows.height, drawn.kind, drawn.note) == (
        3096,
        500,
        "table",
        "showing 100 of 3,096",
    )


@pytest.mark.parametrize(
    ("text", "slide", "as_they_came"),
    [("SELECT * FROM s WHERE v > 2", None, True), ("SELECT ts, v FROM s", None, False),
     ("SELECT count(*) AS n FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS]", 10_000_000, False),
     ("SELECT count(*) AS n FROM s [SESSION 10 SECONDS]", None, False)],
)  # fmt: skip
def test_a_view_knows_the_slide_of_windows_and_rows_that_came_as_they_are(session, text, slide, as_they_came):
    snapshot, _ = shown(session, text)
    assert (snapshot.slide, snapshot.as_they_came) == (slide, as_they_came)


def test_the_last_windows_of_a_replay_are_past_the_end_of_its_data(session):
    _, drawn = shown(session, "SELECT count(*) AS n FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS]", chart="line")
    line = drawn.layers[0].columns["ys"].values
    assert drawn.beyond and line[-1] == 60 and len(drawn.layers[1].columns["y"]) - len(line) == 6
