"""Functions and aggregates of a user's own on Spark: the kernel's answers, and its errors."""

from __future__ import annotations

import datetime as dt
import gc
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import jupyter_stream
from jupyter_stream.session.session import Session
from tests.oracle.compare import assert_same_bag
from tests.tiers import slow

DECLARED = """
CREATE STREAM s (ts TIMESTAMP, k STRING, x DOUBLE) ORDER BY ts SOURCE 'frame://rows';
CREATE FUNCTION half (x DOUBLE) : DOUBLE AS x / 2;
CREATE AGGREGATE chances (x DOUBLE) : DOUBLE
{ TABLE t (v DOUBLE); INITIALIZE : ITERATE : { INSERT INTO t VALUES (root(x) + rand() + hash(x, 3) % 7); }
  TERMINATE : { INSERT INTO RETURN SELECT sum(v) FROM t; } };
"""
QUERIES = {
    "in a select list and in WHERE": "SELECT ts, root(x) AS r, bucket(x) AS b, half(x) AS h, hash(k, 2) AS c, rand() AS d "
    "FROM s WHERE root(x) < 6",
    "around a window": "SELECT bucket(x) AS b, sum(root(x)) AS r, root(count(*)) AS n FROM s [RANGE 10 SECONDS TUMBLING] "
    "GROUP BY bucket(x) HAVING bucket(max(x)) < 5",
    "in an aggregate of one's own": "SELECT k, chances(DISTINCT x) AS c FROM s [RANGE 10 SECONDS TUMBLING] WHERE x > 0 "
    "GROUP BY k",
}


@pytest.fixture(autouse=True)
def in_python() -> None:
    @jupyter_stream.function
    def root(x: float) -> float:
        return math.sqrt(x)

    @jupyter_stream.function(vectorised=True)
    def bucket(x: float) -> int:
        return np.floor_divide(x, 10).astype(np.int64)  # type: ignore[attr-defined,no-any-return]


@slow
@pytest.mark.parametrize("name", QUERIES)
def test_same_answers_and_errors_as_in_the_kernel(name: str, sessions: Callable[..., Session]) -> None:
    times = pl.Series("ts", range(0, 30_000_000, 1_000_000), dtype=pl.Int64).cast(pl.Datetime("us"))
    rows = pl.DataFrame({"ts": times, "k": list("ab") * 15, "x": [float(i) if i != 7 else -1.0 for i in range(30)]})
    session = sessions(rows=rows)
    session.run(DECLARED)
    found: list[Any] = [session.execute(QUERIES[name], engine=engine)[-1] for engine in ("kernel", "spark")]
    for query in found:
        assert query.wait(400), "it doesn't end"
    kernel, spark = (q.to_polars() for q in found)
    assert kernel.height > 2
    assert_same_bag(spark.select(kernel.columns).rows(), kernel.rows(), kernel.columns)
    assert found[0].errors["reason"].to_list() == found[1].errors["reason"].to_list()


SHOWN = {
    "of Spark's own operators": "spared(x)",
    "of ours inside Spark": "spared(x), sum(x) OVER (ORDER BY ts ROWS 2 PRECEDING)",
}


@slow
@pytest.mark.parametrize("name", SHOWN)
def test_a_python_of_sparks_does_not_look_through_what_is_loaded_after_each_task(
    name: str, sessions: Callable[..., Session]
) -> None:
    @jupyter_stream.function
    def spared(x: float) -> int:
        return gc.get_freeze_count()

    session = sessions(rows=pl.DataFrame({"ts": [dt.datetime(2024, 5, 1)], "k": ["a"], "x": [1.0]}))
    session.run(DECLARED.partition("CREATE FUNCTION")[0])
    query: Any = session.execute(f"SELECT {SHOWN[name]} FROM s", engine="spark")[-1]
    assert query.wait(400) and query.status == "finished"
    assert query.to_polars().item(0, 0) > 50_000
