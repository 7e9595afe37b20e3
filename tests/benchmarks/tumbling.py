"""Tumbling 10 s count per key, 1,000 uniform keys."""

from __future__ import annotations

import polars as pl
from race import Race

SQL = "SELECT key, count(*) AS n FROM rows [RANGE 10 SECONDS TUMBLING] GROUP BY key"

DUCKDB = """
SELECT make_timestamp(w * 10000000) AS window_start, make_timestamp((w + 1) * 10000000) AS window_end, key, n
FROM (SELECT epoch_us(ts) // 10000000 AS w, key, count(*) AS n FROM rows GROUP BY w, key)
"""


def in_polars(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Window numbers by whole division (faster than `dt.truncate`), one group_by."""
    window = (pl.col("ts").to_physical() // 10_000_000).alias("w")
    return (
        rows.group_by(window, "key")
        .agg(pl.len().alias("n"))
        .select(
            (pl.col("w") * 10_000_000).cast(pl.Datetime("us")).alias("window_start"),
            ((pl.col("w") + 1) * 10_000_000).cast(pl.Datetime("us")).alias("window_end"),
            "key",
            "n",
        )
    )


RACES = tuple(
    Race(
        name=f"tumbling-{place}",
        title=f"tumbling 10 s count per key, 1,000 keys, {place}",
        dataset="uniform",
        rows=rows,
        columns=("ts", "key"),
        memory=place == "memory",
        target=target,
        sql=SQL,
        polars=in_polars,
        duckdb=DUCKDB,
    )
    for place, rows, target in (("files", 50_000_000, 0.6), ("memory", 30_000_000, 0.7))
)
