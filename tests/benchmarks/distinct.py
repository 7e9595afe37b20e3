"""Distinct count of 100,000 Zipf keys, 60 s / 5 s."""

from __future__ import annotations

import polars as pl
from race import Race

SQL = "SELECT count(DISTINCT key) AS n FROM rows [RANGE 60 SECONDS SLIDE 5 SECONDS]"

DUCKDB = """
WITH panes AS (SELECT DISTINCT epoch_us(ts) // 5000000 AS pane, key FROM rows)
SELECT make_timestamp((e - 12) * 5000000) AS window_start, make_timestamp(e * 5000000) AS window_end, count(*) AS n
FROM (SELECT DISTINCT pane + i AS e, key FROM panes, range(1, 13) AS t(i)) GROUP BY e
"""


def in_polars(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Distinct keys of panes of 5 s, then of windows."""
    pane = (pl.col("ts").to_physical() // 5_000_000).alias("pane")
    panes = rows.select(pane, "key").unique()
    spread = pl.concat([panes.select(pl.col("pane") + i, "key") for i in range(1, 13)])
    return (
        spread.unique()
        .group_by("pane")
        .agg(pl.len().alias("n"))
        .select(
            ((pl.col("pane") - 12) * 5_000_000).cast(pl.Datetime("us")).alias("window_start"),
            (pl.col("pane") * 5_000_000).cast(pl.Datetime("us")).alias("window_end"),
            "n",
        )
    )


RACES = (
    Race(
        name="distinct",
        title="distinct count 60 s / 5 s, 100,000 Zipf keys, memory",
        dataset="zipf",
        rows=20_000_000,
        columns=("ts", "key"),
        memory=True,
        target=1.0,
        sql=SQL,
        polars=in_polars,
        duckdb=DUCKDB,
    ),
)
