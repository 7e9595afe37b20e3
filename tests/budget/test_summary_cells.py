"""The cells of the summary that a running query keeps are there to be drawn."""

import numpy as np
import polars as pl

import jupyter_stream

ROWS = pl.DataFrame({"ts": np.arange(4_000) * 10_000, "item": np.arange(4_000) % 7})
GIVEN = """
CREATE STREAM s (ts BIGINT, item BIGINT) ORDER BY ts SOURCE 'frame://rows';
CREATE SUMMARY items ON s (item) WITH GRANULARITY 8 SECONDS AND COLLAPSE (2, 3);
"""
PREFERRED = "SELECT item FROM s WHERE item > 2 WITH PREFERENCE DESC SUMMARY.Estimate.Count(item)"


def test_a_query_that_keeps_a_summary_shows_its_cells_and_others_have_none():
    with jupyter_stream.Session({"rows": ROWS}) as session:
        session.execute(GIVEN)
        (kept,) = session.execute(PREFERRED, budget="1 probes/row")
        (plain,) = session.execute("SELECT item FROM s")
        assert kept.wait(200) and plain.wait(200)
        cells = kept.snapshot().cells
        assert cells is not None and plain.snapshot().cells is None
    assert set(cells.get_column("granularity")) > {1}
    assert 0 < cells.get_column("rows").sum() <= ROWS.height
    assert cells.filter(pl.col("rows") > 0).get_column("bucket").n_unique() <= 7
