"""An extent for each row (slide-by-tuple): count and max over the last second and the last minute, out of order, memory."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
from race import Race


def in_polars(span: int) -> Callable[[pl.LazyFrame], pl.LazyFrame]:
    """Rolling over sorted rows."""

    def work(rows: pl.LazyFrame) -> pl.LazyFrame:
        rolled = rows.sort("ts").rolling("ts", period=f"{span}us", closed="right")
        return rolled.agg(pl.len().cast(pl.Int64).alias("n"), pl.col("value").max().alias("most")).select(
            (pl.col("ts") - pl.duration(microseconds=span)).alias("window_start"),
            pl.col("ts").alias("window_end"),
            "n",
            "most",
        )

    return work


def in_duckdb(span: int) -> str:
    """A frame of the range before each row; one microsecond less, as SQL's frames are closed."""
    return f"""
SELECT ts - INTERVAL {span} MICROSECONDS AS window_start, ts AS window_end, count(*) OVER w AS n, max(value) OVER w AS most
FROM rows WINDOW w AS (ORDER BY ts RANGE BETWEEN INTERVAL {span - 1} MICROSECONDS PRECEDING AND CURRENT ROW)
"""


RACES = tuple(
    Race(
        name=f"tuples-{name}",
        title=f"slide 1 row: count and max over the last {name}, memory",
        dataset="uniform",
        rows=5_000_000,
        columns=("ts", "value"),
        memory=True,
        target=0.0,
        sql=f"SELECT count(*) AS n, max(value) AS most FROM rows [RANGE {span} MICROSECONDS SLIDE 1 ROW]",
        polars=in_polars(span),
        duckdb=in_duckdb(span),
        engine="in-memory",
    )
    for name, span in (("second", 1_000_000), ("minute", 60_000_000))
)
