"""A list of values that are all NULL is empty, as in Spark, wherever lists are kept; an extent without rows has none."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.session.query import Query

TEN = dt.datetime(2024, 5, 1, 10)
ROWS = pl.DataFrame({
    "at": [TEN + dt.timedelta(seconds=20 * i) for i in range(8)],
    "k": ["a", "b"] * 4,
    "x": [None, 1, None, 2, None, None, None, None],
})  # fmt: skip
A, B, NONE = [1], [2], list[int]()


@pytest.mark.parametrize(
    ("query", "lists"),
    [
        ("collect_list(x) AS l FROM f [RANGE 1 MINUTE TUMBLING]", [A, B, NONE]),
        ("collect_list(DISTINCT x) AS l FROM f [RANGE 1 MINUTE TUMBLING]", [A, B, NONE]),
        ("array_agg(x ORDER BY k) AS l FROM f [RANGE 1 MINUTE TUMBLING]", [A, B, NONE]),
        ("collect_list(x) FILTER (WHERE x > 1) AS l FROM f [RANGE 1 MINUTE TUMBLING]", [NONE, B, NONE]),
        ("collect_list(x) AS l FROM f [RANGE 2 MINUTES SLIDE 1 MINUTE]", [A, [1, 2], B, NONE]),
        ("collect_list(x) AS l FROM f [RANGE 1 MINUTE TUMBLING] GROUP BY k HAVING k = 'a'", [NONE, NONE, NONE]),
        ("collect_list(x) AS l FROM f [ROWS 2 SLIDE 2]", [A, B, NONE, NONE]),
        ("collect_list(x) AS l FROM f [PARTITION BY k ROWS 2 SLIDE 2] GROUP BY k", [NONE, [1, 2], NONE, NONE]),
        ("collect_list(x) AS l FROM f [SESSION 1 HOUR PARTITION BY k] GROUP BY k", [NONE, [1, 2]]),
        ("collect_list(x) AS l FROM f [RANGE 20 SECONDS SLIDE 1 ROW]", [NONE, A, NONE, B, NONE, NONE, NONE, NONE]),
        ("collect_list(x) OVER (PARTITION BY k ROWS 1 PRECEDING) AS l FROM f",
         [NONE, A, NONE, [1, 2], NONE, B, NONE, NONE]),
        ("RSTREAM collect_list(x) AS l FROM f [RANGE 5 SECONDS] WHERE k = 'b'",
         [NONE, A, NONE, B, NONE]),
        ("(SELECT collect_list(x) FROM f [RANGE 5 SECONDS] WHERE k = 'b') AS l FROM f [NOW]",
         [NONE, A, NONE, B, NONE, NONE, NONE, NONE]),
        ("l FROM (SELECT k, collect_list(x) AS l FROM f [RANGE 5 SECONDS] GROUP BY k) [NOW] WHERE size(l) = 0", [NONE] * 6),
        ("collect_list(x) AS l FROM f [RANGE 10 SECONDS TUMBLING] WHERE k = 'b'",
         [A, None, None, None, B, None, None, None, NONE, None, None, None, NONE]),
        ("string_agg(k, '') FILTER (WHERE x > 1) AS l FROM f [RANGE 1 MINUTE TUMBLING]", [None, "b", None]),
    ],
)  # fmt: skip
def test_a_list_of_nulls_is_empty(query: str, lists: list[object]) -> None:
    with Session({"rows": ROWS}) as session:
        session.run("CREATE STREAM f (at TIMESTAMP, k STRING, x INT) ORDER BY at SOURCE 'frame://rows'")
        (found,) = session.execute(f"SELECT {query}")
        assert isinstance(found, Query) and found.wait(100)
        assert found.to_polars()["l"].to_list() == lists
