"""Sliding 60 s / 5 s count, sum and max per key: 1,000 uniform keys from files and memory, 100,000 Zipf keys from files."""

from __future__ import annotations

import polars as pl
from race import Race

SQL = """SELECT key, count(*) AS n, sum(value) AS total, max(value) AS most
FROM rows [RANGE 60 SECONDS SLIDE 5 SECONDS] GROUP BY key"""

DUCKDB = """
WITH panes AS (
  SELECT epoch_us(ts) // 5000000 AS pane, key, count(*) AS n, sum(value)::BIGINT AS total, max(value) AS most
  FROM rows GROUP BY pane, key)
SELECT make_timestamp((e - 12) * 5000000) AS window_start, make_timestamp(e * 5000000) AS window_end, key, n, total, most
FROM (SELECT pane + i AS e, key, sum(n)::BIGINT AS n, sum(total)::BIGINT AS total, max(most) AS most
      FROM panes, range(1, 13) AS t(i) GROUP BY e, key)
"""


def in_polars(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Panes of 5 s first, each then a part of its 12 windows."""
    pane = (pl.col("ts").to_physical() // 5_000_000).alias("pane")
    panes = rows.group_by(pane, "key").agg(
        pl.len().cast(pl.Int64).alias("n"), pl.col("value").sum().alias("total"), pl.col("value").max().alias("most")
    )
    spread = pl.concat([panes.with_columns((pl.col("pane") + i).alias("e")) for i in range(1, 13)])
    return (
        spread.group_by("e", "key")
        .agg(pl.col("n").sum(), pl.col("total").sum(), pl.col("most").max())
        .select(
            ((pl.col("e") - 12) * 5_000_000).cast(pl.Datetime("us")).alias("window_start"),
            (pl.col("e") * 5_000_000).cast(pl.Datetime("us")).alias("window_end"),
            "key",
            "n",
            "total",
            "most",
        )
    )


RACES = tuple(
    Race(
        name=name,
        title=f"sliding 60 s / 5 s count, sum, max per key, {title}",
        dataset=dataset,
        rows=rows,
        columns=("ts", "key", "value"),
        memory=name.endswith("memory"),
        target=target,
        sql=SQL,
        polars=in_polars,
        duckdb=DUCKDB,
    )
    for name, title, dataset, rows, target in (
        ("sliding-files", "1,000 keys, files", "uniform", 50_000_000, 0.6),
        ("sliding-memory", "1,000 keys, memory", "uniform", 30_000_000, 0.7),
        ("sliding-zipf", "100,000 Zipf keys, files", "zipf", 20_000_000, 1.5),
    )
)
