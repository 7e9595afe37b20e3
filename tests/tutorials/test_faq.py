"""Questions and their answers: the page's examples run in order, and what it claims is so."""

import datetime as dt
import json
import re
import threading
from pathlib import Path

import pandas as pd
import pytest

import jupyter_stream
from jupyter_stream.errors import StreamError
from tests.tiers import slow

TUTORIALS = Path(__file__).parents[2] / "tutorials"
PAGE = (TUTORIALS / "reference" / "faq.md").read_text()
EXAMPLES = re.findall(r"^```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
DECLARED = EXAMPLES[0]
NOON = dt.datetime(2026, 1, 1, 12)


def readings() -> pd.DataFrame:
    """The frame of tutorial 0, made by its own cell."""
    cells = json.loads((TUTORIALS / "00-five-minutes.ipynb").read_text())["cells"]
    (source,) = ("".join(c["source"]) for c in cells if "readings = pd.DataFrame" in "".join(c["source"]))
    names: dict[str, pd.DataFrame] = {}
    exec(source, names)
    return names["readings"]


@pytest.fixture
def session():
    session = jupyter_stream.Session(namespace={"readings": readings()})
    yield session
    session.close()


def answer(session: jupyter_stream.Session, text: str) -> jupyter_stream.Query:
    query = session.execute(text)[-1]
    assert isinstance(query, jupyter_stream.Query) and query.wait(200)
    return query


def declared(session: jupyter_stream.Session, rows: list[dict]) -> None:
    session.namespace["rows"] = pd.DataFrame(rows)
    session.execute("CREATE STREAM s WATERMARK FOR at AS at - INTERVAL 2 MINUTES SOURCE 'frame://rows'")


def test_the_examples_run_in_order(session):
    for example in EXAMPLES:
        for made in session.execute(example):
            if isinstance(made, jupyter_stream.Query):
                assert made.wait(200) and made.to_polars().height, example


def test_one_row_far_ahead_makes_all_others_late(session):
    ahead = dt.datetime.now() + dt.timedelta(days=5 * 365)  # beyond ten years it would be an error of the row
    times = [ahead, *(NOON + dt.timedelta(minutes=m) for m in range(10))]
    declared(session, [{"at": t, "x": 1} for t in times])
    query = answer(session, "SELECT count(*) AS n FROM s [RANGE 5 MINUTES TUMBLING]")
    assert query.to_polars()["n"].sum() == 1
    assert query.late.height == 10
    assert (query.late["punctuation"] > NOON + dt.timedelta(days=1000)).all()
    declared(session, [{"at": t, "x": 1} for t in [dt.datetime(2099, 1, 1), *times[1:]]])
    assert answer(session, "SELECT count(*) AS n FROM s [RANGE 5 MINUTES TUMBLING]").errors.height == 1


def test_rows_without_a_time_are_among_the_errors(session):
    declared(session, [{"at": NOON, "x": 1}, {"at": None, "x": 2}])
    query = answer(session, "SELECT count(*) AS n FROM s [RANGE 5 MINUTES TUMBLING]")
    assert query.to_polars()["n"].to_list() == [1] and query.errors.height == 1
    assert answer(session, "SELECT * FROM errors(s)").to_polars().height == 1


@slow
def test_an_answer_comes_with_the_first_row_beyond_the_watermark_and_the_rest_at_the_end(session):
    given, go, end = threading.Event(), threading.Event(), threading.Event()

    def ticks():
        yield {"at": NOON, "x": 1}
        yield {"at": NOON + dt.timedelta(minutes=6, seconds=59), "x": 1}
        go.wait(200)
        yield {"at": NOON + dt.timedelta(minutes=7), "x": 1}
        end.wait(200)

    session.namespace["ticks"] = ticks()
    session.execute(
        "CREATE STREAM s (at TIMESTAMP, x INT) WATERMARK FOR at AS at - INTERVAL 2 MINUTES SOURCE 'python://ticks'"
    )
    (query,) = session.execute("SELECT count(*) AS n FROM s [RANGE 5 MINUTES TUMBLING]")
    query.on_result(lambda _frame: given.set())
    assert not given.wait(0.5) and query.to_polars().is_empty()
    go.set()
    assert given.wait(200)
    assert query.to_polars()["n"].to_list() == [1]
    end.set()
    assert query.wait(200)
    assert query.to_polars()["n"].to_list() == [1, 2]


def test_early_answers_are_marked(session):
    session.execute(DECLARED)
    query = answer(session, "SELECT count(*) AS n FROM temperatures [RANGE 5 MINUTES TUMBLING] EMIT EVERY 1 MINUTE")
    marks = query.changes()["is_final"]
    assert not marks.all() and marks.any()


def test_late_holds_what_missed_an_answer_once_for_each_query(session):
    session.execute(DECLARED)
    fives = answer(session, "SELECT count(*) AS n FROM temperatures [RANGE 5 MINUTES TUMBLING]")
    tens = answer(session, "SELECT count(*) AS n FROM temperatures [RANGE 10 MINUTES TUMBLING]")
    rows = answer(session, "SELECT count(*) AS n FROM temperatures [ROWS 4 SLIDE 4]")
    assert (fives.late.height, tens.late.height, rows.late.height) == (1, 0, 0)
    assert fives.to_polars()["n"].sum() + fives.late.height == 12 == tens.to_polars()["n"].sum()
    answer(session, "SELECT count(*) AS n FROM temperatures [RANGE 5 MINUTES TUMBLING]")
    late = answer(session, "SELECT * FROM late(temperatures)").to_polars()
    assert late.columns == ["at", "room", "celsius", "punctuation", "missed"]
    assert late["at"].to_list() == [NOON + dt.timedelta(minutes=3)] * 2
    assert late["punctuation"].to_list() == [NOON + dt.timedelta(minutes=7)] * 2
    assert late["missed"].to_list() == [1, 1]


def test_a_join_without_a_bound_is_refused_unless_that_is_meant(session):
    session.execute(DECLARED + "CREATE STREAM others WATERMARK FOR at AS at SOURCE 'frame://readings'")
    with pytest.raises(StreamError) as refused:
        session.execute("SELECT a.room FROM temperatures a JOIN others b ON a.room = b.room")
    assert "RANGE" in str(refused.value)
    unbounded = "temperatures [RANGE UNBOUNDED] a JOIN others [RANGE UNBOUNDED] b"
    assert answer(session, f"SELECT a.room FROM {unbounded} ON a.room = b.room").to_polars().height


def test_a_replay_starts_over_for_each_query(session):
    session.execute(DECLARED)
    counts = [answer(session, "SELECT celsius FROM temperatures").to_polars().height for _ in range(2)]
    assert counts == [12, 12]


def test_state_is_empty_when_the_stream_has_passed(session):
    session.execute(DECLARED)
    query = answer(session, "SELECT room, count(*) AS n FROM temperatures [RANGE 5 MINUTES TUMBLING] GROUP BY room")
    assert query.snapshot().state_bytes == 0
