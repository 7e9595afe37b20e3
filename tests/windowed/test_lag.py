"""lag(...) OVER: Polars' shift of the rows in order of time is the oracle, however the rows came."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import Session
from tests.oracle import axis
from tests.oracle.search import searching

ROWS = st.lists(
    st.tuples(axis.times(), st.sampled_from(["a", "b", None]), st.one_of(st.none(), st.integers(-9, 9))),
    min_size=1,
    max_size=30,
)


@searching
@given(ROWS, st.integers(1, 4), st.one_of(st.none(), st.integers(-99, -90)))
def test_lag_is_a_shift_in_order_of_time_whatever_the_order_of_arrival(rows, distance, default):
    frame = pl.DataFrame(
        {
            "ts": pl.Series([t for t, _, _ in rows], dtype=pl.Int64),
            "k": pl.Series([k for _, k, _ in rows], dtype=pl.String),
            "x": pl.Series([x for _, _, x in rows], dtype=pl.Int64),
            "n": range(len(rows)),
        }
    )
    shown = "" if default is None else f", {default}"
    with Session({"rows": frame}) as session:
        _, query = session.run(
            "CREATE STREAM s (ts BIGINT, k STRING, x BIGINT, n BIGINT, WATERMARK FOR ts AS ts - INTERVAL 60 MICROSECONDS) "
            f"SOURCE 'frame://rows'; SELECT n, lag(x, {distance}{shown}) OVER (PARTITION BY k) AS p FROM s"
        )
        query.wait(200)
        got = query.to_polars().sort("n")
    expected = frame.sort("ts", maintain_order=True).select(
        pl.col("n"), pl.col("x").shift(distance, fill_value=default).over("k").alias("p")
    )
    assert got.rows() == expected.sort("n").rows()
