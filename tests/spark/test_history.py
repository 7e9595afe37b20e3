"""A query once more over history, and as a DataFrame: the same plan, in Spark's hands."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from jupyter_stream.errors import QueryError
from jupyter_stream.session import Session
from tests.oracle.compare import assert_same_bag, plain_rows

START = dt.datetime(2024, 5, 1, 12)
ROWS = pl.DataFrame(
    {
        "k": [f"{i * 7 % 5}" for i in range(3000)],
        "n": [i % 11 for i in range(3000)],
        "ts": [START + dt.timedelta(seconds=i - (i % 7) * 3) for i in range(3000)],
    },
    schema_overrides={"n": pl.Int32},
)
DECLARED = "CREATE STREAM s (k STRING, n INT, ts TIMESTAMP) ORDER BY ts SOURCE 'frame://rows'"
QUERIES = {
    "read by Spark itself": "SELECT k, count(*) AS c, sum(n) AS n FROM s [RANGE 1 MINUTE SLIDE 20 SECONDS] GROUP BY k",
    "looked at row by row": "SELECT k, sum(10 / n) AS p FROM s [RANGE 1 MINUTE TUMBLING] GROUP BY k",
    "an operator of ours": "SELECT k, max(n) AS n FROM s [PARTITION BY k ROWS 10 SLIDE 3] GROUP BY k",
}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    for i in range(3):
        ROWS[i * 1000 : (i + 1) * 1000].write_parquet(tmp_path / f"{i}.parquet")
    return tmp_path


@pytest.mark.parametrize("name", QUERIES)
def test_history_gives_the_same_on_both_engines_and_nothing_is_late(
    name: str, archive: Path, sessions: Callable[..., Session]
) -> None:
    session = sessions(rows=ROWS[:100])
    session.run(DECLARED)
    assert session.run(QUERIES[name], name="q")[-1].wait(60)  # type: ignore[union-attr]
    uri = f"file://{archive}/*.parquet"
    kernel: Any = session.over("q", uri)
    assert kernel.wait(60)
    spark: Any = session.over("q", uri, engine="spark")
    assert spark.wait(120)
    assert spark.to_polars().schema == kernel.to_polars().schema
    assert kernel.to_polars().height > 10
    assert_same_bag(plain_rows(spark.to_polars()), plain_rows(kernel.to_polars()), kernel.to_polars().columns)
    assert spark.late.height == kernel.late.height == 0
    assert sorted(spark.errors.rows()) == sorted(kernel.errors.rows())


def test_what_has_no_history_is_said(sessions: Callable[..., Session], archive: Path) -> None:
    session = sessions(rows=ROWS[:100])
    session.run("CREATE STREAM a (k STRING, n INT) SOURCE 'frame://rows'")
    session.run("SELECT k FROM a", name="arrived")
    with pytest.raises(QueryError, match="that of arrival"):
        session.over("arrived", f"file://{archive}/*.parquet", engine="spark")
    with pytest.raises(QueryError, match="no query called"):
        session.over("nothing", f"file://{archive}/*.parquet")
