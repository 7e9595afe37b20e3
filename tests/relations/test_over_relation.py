"""OVER on a relation: it looks back on the relation's rows as they enter."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.errors import UnsupportedError

START = dt.datetime(2024, 1, 1)
TOTALS = "SELECT {}k, sum(v) AS total FROM a [RANGE 5 SECONDS] GROUP BY k"
OVERS = ("max(total) OVER (PARTITION BY k ROWS 2 PRECEDING)", "lag(total) OVER (PARTITION BY k)", "count(*) OVER ()")


@pytest.fixture
def session():
    rows = {"ts": [START + dt.timedelta(seconds=i) for i in range(20)], "k": ["a", "b"] * 10, "v": range(20)}
    with Session({"rows": pl.DataFrame(rows)}) as session:
        session.execute("CREATE STREAM a (WATERMARK FOR ts AS ts) SOURCE 'frame://rows'")
        yield session


@pytest.mark.parametrize("over", OVERS)
def test_it_is_over_what_istream_gives(session, over):
    asked = f"SELECT k, total, {over} AS seen FROM "
    found, written = (answers(session, f"{asked} ({TOTALS.format(word)})") for word in ("", "ISTREAM "))
    assert found == written
    assert found.total() == answers(session, TOTALS.format("ISTREAM ")).total() > 20


def test_it_is_over_the_entries_of_a_view(session):
    session.execute("CREATE VIEW totals AS " + TOTALS.format(""))
    found = answers(session, "SELECT k, total, count(*) OVER (PARTITION BY k ROWS 1 PRECEDING) AS n FROM totals")
    assert {n for _, _, n in found} <= {1, 2}


def test_a_table_without_an_order_has_all_rows_in_a_frame(session):
    session.execute("CREATE TABLE names (k STRING); INSERT INTO names VALUES ('a'), ('b'), ('b')")
    found = answers(session, "SELECT k, count(*) OVER () AS n FROM (SELECT k FROM names GROUP BY k)")
    assert found == Counter([("a", 2), ("b", 2)])


def test_a_table_has_no_order_to_look_back_on(session):
    session.execute("CREATE TABLE names (k STRING); INSERT INTO names VALUES ('a')")
    with pytest.raises(UnsupportedError, match="the rows of a table have no order"):
        session.execute("SELECT k, count(*) OVER (ROWS 2 PRECEDING) AS n FROM (SELECT k FROM names GROUP BY k)")


def answers(session: Session, text: str) -> Counter[tuple[object, ...]]:
    (query,) = session.execute(text)
    assert query.wait(200)
    return Counter(query.to_polars().rows())
