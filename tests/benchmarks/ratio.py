"""Cost per row while RANGE / SLIDE goes from 1 to 4,000: it should not depend on it (window-queries thesis, Figure 6-10).

Count, sum and max of all rows, SLIDE 100 ms (1,600 rows).
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
from race import Race

SLIDE = 100_000


def sql(ratio: int) -> str:
    """Our query."""
    return f"""SELECT count(*) AS n, sum(value) AS total, max(value) AS most
FROM rows [RANGE {ratio * SLIDE} MICROSECONDS SLIDE {SLIDE} MICROSECONDS]"""


def in_duckdb(ratio: int) -> str:
    """Panes of one slide, then a window function over them and over the empty ones after the last."""
    return f"""
WITH panes AS (
  SELECT epoch_us(ts) // {SLIDE} AS pane, count(*) AS n, sum(value)::BIGINT AS total, max(value) AS most FROM rows GROUP BY pane),
every AS (
  SELECT e AS pane, n, total, most FROM range((SELECT min(pane) FROM panes), (SELECT max(pane) + {ratio} FROM panes)) AS t(e)
  LEFT JOIN panes ON pane = e)
SELECT make_timestamp((pane + 1 - {ratio}) * {SLIDE}) AS window_start, make_timestamp((pane + 1) * {SLIDE}) AS window_end,
  sum(n) OVER w ::BIGINT AS n, sum(total) OVER w ::BIGINT AS total, max(most) OVER w AS most
FROM every WINDOW w AS (ORDER BY pane ROWS {ratio - 1} PRECEDING)
"""


def in_polars(ratio: int) -> Callable[[pl.LazyFrame], pl.LazyFrame]:
    """The same in Polars: rolling sums and maxima over the panes."""

    def work(rows: pl.LazyFrame) -> pl.LazyFrame:
        pane = (pl.col("ts").to_physical() // SLIDE).alias("pane")
        panes = (
            rows.group_by(pane)
            .agg(
                pl.len().cast(pl.Int64).alias("n"),
                pl.col("value").sum().alias("total"),
                pl.col("value").max().alias("most"),
            )
            .collect(engine="streaming")
        )
        first, last = panes.get_column("pane").min(), panes.get_column("pane").max()
        assert isinstance(first, int)
        assert isinstance(last, int)
        every = pl.LazyFrame({"pane": pl.int_range(first, last + ratio, eager=True)})
        return (
            every.join(panes.lazy(), on="pane", how="left", maintain_order="left")
            .with_columns(pl.col("n", "total").fill_null(0))
            .select(
                ((pl.col("pane") + 1 - ratio) * SLIDE).cast(pl.Datetime("us")).alias("window_start"),
                ((pl.col("pane") + 1) * SLIDE).cast(pl.Datetime("us")).alias("window_end"),
                pl.col("n").rolling_sum(ratio, min_samples=1),
                pl.col("total").rolling_sum(ratio, min_samples=1),
                pl.col("most").rolling_max(ratio, min_samples=1),
            )
        )

    return work


RACES = tuple(
    Race(
        name=f"ratio-{ratio}",
        title=f"range/slide {ratio:,}: count, sum, max of all rows, slide 100 ms, memory",
        dataset="uniform",
        rows=10_000_000,
        columns=("ts", "value"),
        memory=True,
        target=0.0,
        sql=sql(ratio),
        polars=in_polars(ratio),
        duckdb=in_duckdb(ratio),
    )
    for ratio in (1, 8, 60, 500, 4_000)
)
