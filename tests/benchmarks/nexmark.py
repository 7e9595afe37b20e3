"""NEXMark q5, hot items (bids per auction in 10 s / 2 s, then the most of each window), and q7, the highest bid per 10 s."""

from __future__ import annotations

import polars as pl
from race import Race

Q5 = """SELECT max(n) AS most FROM (
  SELECT auction, count(*) AS n FROM rows [RANGE 10 SECONDS SLIDE 2 SECONDS] GROUP BY auction
) [RANGE 2 SECONDS TUMBLING]"""

Q5_DUCKDB = """
WITH panes AS (SELECT epoch_us(ts) // 2000000 AS pane, auction, count(*) AS n FROM rows GROUP BY pane, auction)
SELECT make_timestamp((e - 1) * 2000000) AS window_start, make_timestamp(e * 2000000) AS window_end, max(n)::BIGINT AS most
FROM (SELECT pane + i AS e, auction, sum(n) AS n FROM panes, range(1, 6) AS t(i) GROUP BY e, auction) GROUP BY e
"""


def q5(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Panes of 2 s first; a window's rows of the outer query are those of one instant, so their window is one slide long."""
    pane = (pl.col("ts").to_physical() // 2_000_000).alias("pane")
    panes = rows.group_by(pane, "auction").agg(pl.len().alias("n"))
    spread = pl.concat([panes.with_columns((pl.col("pane") + i).alias("e")) for i in range(1, 6)])
    return (
        spread.group_by("e", "auction")
        .agg(pl.col("n").sum())
        .group_by("e")
        .agg(pl.col("n").max().alias("most"))
        .select(
            ((pl.col("e") - 1) * 2_000_000).cast(pl.Datetime("us")).alias("window_start"),
            (pl.col("e") * 2_000_000).cast(pl.Datetime("us")).alias("window_end"),
            "most",
        )
    )


Q7 = "SELECT max(price) AS most FROM rows [RANGE 10 SECONDS TUMBLING]"

Q7_DUCKDB = """
SELECT make_timestamp(w * 10000000) AS window_start, make_timestamp((w + 1) * 10000000) AS window_end, most
FROM (SELECT epoch_us(ts) // 10000000 AS w, max(price) AS most FROM rows GROUP BY w)
"""


def q7(rows: pl.LazyFrame) -> pl.LazyFrame:
    """One group_by."""
    window = (pl.col("ts").to_physical() // 10_000_000).alias("w")
    return (
        rows.group_by(window)
        .agg(pl.col("price").max().alias("most"))
        .select(
            (pl.col("w") * 10_000_000).cast(pl.Datetime("us")).alias("window_start"),
            ((pl.col("w") + 1) * 10_000_000).cast(pl.Datetime("us")).alias("window_end"),
            "most",
        )
    )


RACES = (
    Race("q5", "NEXMark q5: hot items, 10 s / 2 s, then the maximum, memory", "bids", 20_000_000, ("ts", "auction"), True, 1.0,
         Q5, q5, Q5_DUCKDB),
    Race("q7", "NEXMark q7: highest bid per 10 s, memory", "bids", 20_000_000, ("ts", "price"), True, 0.5, Q7, q7, Q7_DUCKDB),
)  # fmt: skip
