"""What nobody reads of an aggregate's answers isn't made."""

import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.core.messages import WINDOW_END, WINDOW_ID, WINDOW_START
from jupyter_stream.windowed.window_aggregate import WindowAggregate

EXTENT = {WINDOW_START, WINDOW_END, WINDOW_ID}
INNER = "SELECT k, count(*) AS n, sum(x) AS t, window_end AS until FROM s [RANGE 4 MICROSECONDS TUMBLING] GROUP BY k"


@pytest.fixture
def session():
    rows = pl.DataFrame({"ts": range(40), "k": list("abcd") * 10, "x": range(40)})
    with Session({"rows": rows}) as session:
        session.execute("CREATE STREAM s (ts BIGINT, k STRING, x BIGINT, WATERMARK FOR ts AS ts) SOURCE 'frame://rows'")
        yield session


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("SELECT max(n) AS m FROM ({}) AS i [RANGE 8 MICROSECONDS TUMBLING]", {"$agg0"}),
        ("SELECT k, max(n) AS m FROM ({}) AS i [RANGE 8 MICROSECONDS TUMBLING] GROUP BY k", {"$agg0", "k"}),
        ("SELECT max(until) AS m FROM ({}) AS i [RANGE 8 MICROSECONDS TUMBLING]", {WINDOW_END}),
        ("SELECT max(n) AS m FROM ({}) AS i [RANGE 8 MICROSECONDS TUMBLING] WHERE t > 3", {"$agg0", "$agg1"}),
        ("SELECT max(n) AS m FROM ({}) AS i [ROWS 2 SLIDE 2 ROWS]", {"$agg0", *EXTENT}),
        ("SELECT DISTINCT n FROM ({}) AS i [RANGE 8 MICROSECONDS]", {"$agg0", *EXTENT}),
        ("SELECT n FROM ({}) AS i", {"$agg0", *EXTENT}),
    ],
)
def test_an_aggregate_makes_the_columns_that_are_read(session, query: str, read: set[str]) -> None:
    (answer,) = session.execute(query.format(INNER))
    assert answer.wait(200)
    inner = next(s.operator for s in answer._pipeline.graph.steps if isinstance(s.operator, WindowAggregate))
    assert inner.wanted is not None
    assert inner.wanted & {"k", "$agg0", "$agg1", *EXTENT} == read
    assert answer.to_polars().height and not answer.to_polars().null_count().pipe(sum).item()


def test_what_fails_above_is_shown_with_the_columns_there_are(session) -> None:
    (answer,) = session.execute(f"SELECT max(8 / (n - 1)) AS m FROM ({INNER}) AS i [RANGE 8 MICROSECONDS TUMBLING]")
    assert answer.wait(200)
    assert answer.errors.height == 40 and answer.to_polars().height == 0


def test_late_rows_of_a_derived_stream_are_whole_whatever_a_query_reads(session) -> None:
    session.namespace["late"] = pl.DataFrame({"ts": [0, 9, 1, 20, 3], "k": list("abcde"), "x": range(5)})
    session.execute("CREATE STREAM l (ts BIGINT, k STRING, x BIGINT, WATERMARK FOR ts AS ts) SOURCE 'frame://late'")
    session.execute("CREATE STREAM d AS SELECT k, x * 2 AS y, x, ts FROM l")
    (answer,) = session.execute("SELECT count(*) AS n FROM d [RANGE 4 MICROSECONDS TUMBLING]")
    assert answer.wait(200)
    late = session.side_stream("late", "d").frame()
    assert sorted(late.select("ts", "k", "y", "x").rows()) == [(1, "c", 4, 2), (3, "e", 8, 4)]
