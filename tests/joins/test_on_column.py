"""Windows without SLIDE ON another column than the stream's own time: what the same rows give as a stream of that column."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import Session
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.session.query import Query
from tests.oracle import axis
from tests.oracle.search import searching

START = dt.datetime(2024, 1, 1)
QUERIES = (
    "SELECT k, count(*) AS n, sum(v) AS total FROM {} GROUP BY k",
    "SELECT max(v) AS most FROM {} WHERE v > 2",
    "SELECT DISTINCT k FROM {}",
    "SELECT DSTREAM k, v FROM {} WHERE v > 2",
    "SELECT max(n) AS most FROM (SELECT k, count(*) AS n FROM {} GROUP BY k)",
    "SELECT k, v FROM {} EXCEPT ALL SELECT k, v FROM {} WHERE v < 5",
    "SELECT k, count(*) AS n FROM {} GROUP BY k ORDER BY n DESC LIMIT 1",
)
ROWS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 40), st.sampled_from("ab"), st.integers(0, 9)), min_size=1, max_size=20
)


@searching
@given(
    ROWS, st.sampled_from(QUERIES), st.sampled_from(("RANGE 10 MICROSECONDS", "RANGE UNBOUNDED", "NOW")), axis.middle
)
def test_on_a_column_is_the_stream_ordered_by_it(rows, query, window, base):
    rows = sorted(rows)
    frame = pl.DataFrame(
        {
            "ts": [base + t for t, *_ in rows],
            "ev": [base + t - back for t, back, *_ in rows],
            "k": [k for *_, k, _ in rows],
            "v": [v for *_, v in rows],
        }
    )
    with Session({"rows": frame}) as session:
        session.execute(
            "CREATE STREAM a (WATERMARK FOR ts AS ts) SOURCE 'frame://rows';"
            "CREATE STREAM b (WATERMARK FOR ev AS ev - INTERVAL 60 MICROSECONDS) SOURCE 'frame://rows'"
        )
        on, own = (answers(session, query.replace("{}", text)) for text in (f"a [{window} ON ev]", f"b [{window}]"))
    assert on == own


def answers(session: Session, text: str) -> Counter[tuple[object, ...]]:
    (query,) = session.execute(text)
    assert isinstance(query, Query) and query.wait(200)
    assert not len(query.late)
    return Counter(pl.DataFrame(query.changes()).rows())


def test_a_null_time_goes_to_errors():
    frame = pl.DataFrame({"ts": [START, START], "ev": [START, None], "v": [1, 2]})
    with Session({"rows": frame}) as session:
        session.execute("CREATE STREAM a (WATERMARK FOR ts AS ts) SOURCE 'frame://rows'")
        (query,) = session.execute("SELECT v FROM a [RANGE 1 HOUR ON ev]")
        assert query.wait(200)
        assert query.to_polars().rows() == [(1,)]
        assert len(query.errors) == 1


def test_behind_an_aggregate_it_is_the_same_as_behind_the_stream():
    later = [START + dt.timedelta(seconds=t) for t in (0, 90, 30, 200)]
    frame = pl.DataFrame({"ts": [START] * 4, "ev": later, "k": list("abab")})
    with Session({"rows": frame}) as session:
        session.execute("CREATE STREAM a (WATERMARK FOR ts AS ts) SOURCE 'frame://rows'")
        behind = answers(session, "SELECT k, count(*) [RANGE 1 MINUTE ON ev] AS n FROM a GROUP BY k")
        assert behind == answers(session, "SELECT k, count(*) AS n FROM a [RANGE 1 MINUTE ON ev] GROUP BY k")
    assert behind[("a", 2, 1, START + dt.timedelta(seconds=30))] == 1


def test_behind_an_aggregate_over_a_join_it_says_where_to_write_it():
    frame = pl.DataFrame({"ts": [START], "ev": [START], "k": ["a"]})
    with Session({"rows": frame}) as session:
        session.execute("CREATE STREAM a (WATERMARK FOR ts AS ts) SOURCE 'frame://rows'")
        with pytest.raises(UnsupportedError, match="kept by the time of the join") as raised:
            session.execute(
                "SELECT count(*) [RANGE 1 MINUTE ON x.ev] AS n FROM a AS x, a AS y WHERE x.k = y.k AND x.ts = y.ts"
            )
    assert "after the stream" in str(raised.value.hint)
