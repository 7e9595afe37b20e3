"""Estimates in queries: with SLIDE and without, where there is too little to be off, they are what exact aggregates give."""

from __future__ import annotations

import polars as pl
import pytest

import jupyter_stream

ROWS = pl.DataFrame(
    {
        "k": ["a", "a", "b", "a", "b", "a"],
        "x": [1.0, 2.0, float("nan"), 2.0, None, None],
        "w": ["p", "", "r", None, "p", "p"],
        "ts": [1, 2, 3, 4, 25, 36],
    }
)
WINDOWS = (
    "[RANGE 10 MICROSECONDS TUMBLING]",
    "[RANGE 9 MICROSECONDS SLIDE 4 MICROSECONDS]",
    "",
    "[RANGE 5 MICROSECONDS]",
)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("group", ["", " GROUP BY k"])
def test_estimates_of_few_values_are_exact(window: str, group: str) -> None:
    session = jupyter_stream.Session(namespace={"rows": ROWS})
    try:
        session.execute("CREATE STREAM s (k STRING, x DOUBLE, w STRING, ts BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        (handle,) = session.execute(
            "SELECT approx_count_distinct(x) AS ax, count(DISTINCT x) AS cx, approx_count_distinct(w) AS aw,"
            " count(DISTINCT w) AS cw, approx_top_k(w, 9) AS tw, heavy_hitters(w, 0.001) AS hw, approx_top_k(x, 9) AS tx,"
            f" heavy_hitters(x, 0.001) AS hx, count_if(x > 1) AS ci, count(*) FILTER (WHERE x > 1) AS cc FROM s {window}{group}"
        )
        assert handle.wait(200) and handle.status == "finished"
        found = handle.to_polars()
        history = handle.changes()
    finally:
        session.close()
    assert found.height
    for frame in (found, history):
        for estimate, exact in (("ax", "cx"), ("aw", "cw"), ("tw", "hw"), ("ci", "cc")):
            assert frame[estimate].to_list() == frame[exact].to_list()
        assert repr(frame["tx"].to_list()) == repr(frame["hx"].to_list())  # NaN is no equal of NaN in Python
