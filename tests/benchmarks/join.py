"""Joins: packets with their answers (sliding, four columns, 5 s), counted per 10 s; NEXMark q8, q3 and q4.

The whole-job joins of the others are one equality join with the condition on time as a filter, which is the fastest way there is
where every row has about one partner.
"""

from __future__ import annotations

import polars as pl
from race import Input, Race

SECOND = 1_000_000

FLOWS = """
SELECT count(*) AS n FROM (
  SELECT p.src FROM packets [RANGE 5 SECONDS] p, answers [RANGE 5 SECONDS] a
  WHERE p.src = a.dst AND p.dst = a.src AND p.sport = a.dport AND p.dport = a.sport
) [RANGE 10 SECONDS TUMBLING]"""

FLOWS_DUCKDB = """
SELECT make_timestamp(w * 10000000) AS window_start, make_timestamp((w + 1) * 10000000) AS window_end, n
FROM (SELECT epoch_us(greatest(p.ts, a.ts)) // 10000000 AS w, count(*) AS n FROM packets p JOIN answers a
      ON p.src = a.dst AND p.dst = a.src AND p.sport = a.dport AND p.dport = a.sport
      WHERE abs(epoch_us(p.ts) - epoch_us(a.ts)) < 5000000 GROUP BY w)
"""


def _time(name: str) -> pl.Expr:
    return pl.col(name).to_physical()


def flows(packets: pl.LazyFrame, answers: pl.LazyFrame) -> pl.LazyFrame:
    """One hash join on four columns, then one group_by."""
    window = (pl.max_horizontal(_time("ts"), _time("ts_right")) // (10 * SECOND)).alias("w")
    return (
        packets.join(answers, left_on=["src", "dst", "sport", "dport"], right_on=["dst", "src", "dport", "sport"])
        .filter((_time("ts") - _time("ts_right")).abs() < 5 * SECOND)
        .group_by(window)
        .agg(pl.len().alias("n"))
        .select(
            (pl.col("w") * 10 * SECOND).cast(pl.Datetime("us")).alias("window_start"),
            ((pl.col("w") + 1) * 10 * SECOND).cast(pl.Datetime("us")).alias("window_end"),
            "n",
        )
    )


Q8 = """
SELECT p.id, p.name, a.reserve FROM persons p, auctions a [RANGE 10 SECONDS TUMBLING] WHERE p.id = a.seller"""

Q8_DUCKDB = """
SELECT p.id, p.name, a.reserve FROM persons p JOIN auctions a
ON p.id = a.seller AND epoch_us(p.ts) // 10000000 = epoch_us(a.ts) // 10000000
"""


def q8(persons: pl.LazyFrame, auctions: pl.LazyFrame) -> pl.LazyFrame:
    """An equality join on the person and the number of the extent."""
    extent = (_time("ts") // (10 * SECOND)).alias("w")
    return persons.select("id", "name", extent).join(
        auctions.select(pl.col("seller").alias("id"), "reserve", extent), on=["id", "w"]
    ).select("id", "name", "reserve")  # fmt: skip


Q3 = """
SELECT p.name, p.state, a.id FROM persons [RANGE 60 SECONDS] p, auctions [RANGE 60 SECONDS] a
WHERE a.seller = p.id AND a.category = 10 AND p.state IN ('OR', 'ID', 'CA')"""

Q3_DUCKDB = """
SELECT p.name, p.state, a.id FROM persons p JOIN auctions a ON a.seller = p.id
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA') AND abs(epoch_us(p.ts) - epoch_us(a.ts)) < 60000000
"""


def q3(persons: pl.LazyFrame, auctions: pl.LazyFrame) -> pl.LazyFrame:
    """Selections first, then one join."""
    return (
        persons.filter(pl.col("state").is_in(["OR", "ID", "CA"]))
        .join(
            auctions.filter(pl.col("category") == 10).select("seller", "id", pl.col("ts").alias("opened")),
            left_on="id",
            right_on="seller",
        )
        .filter((_time("ts") - _time("opened")).abs() < 60 * SECOND)
        .select("name", "state", pl.col("id_right").alias("id"))
    )


Q4 = """
SELECT category, avg(final) AS price FROM (
  SELECT id, category, max(price) AS final FROM (
    SELECT a.id, a.category, b.price FROM auctions a JOIN bids b ON a.id = b.auction
    AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 10 SECONDS AND b.ts <= a.expires
  ) [RANGE 10 SECONDS TUMBLING] GROUP BY id, category
) [RANGE 10 SECONDS TUMBLING] GROUP BY category"""

Q4_DUCKDB = """
SELECT make_timestamp(w * 10000000) AS window_start, make_timestamp((w + 1) * 10000000) AS window_end, category,
  avg(final) AS price
FROM (SELECT epoch_us(b.ts) // 10000000 AS w, a.id, category, max(price) AS final FROM auctions a JOIN bids b
      ON a.id = b.auction WHERE b.ts >= a.ts AND b.ts <= a.expires GROUP BY ALL) GROUP BY ALL
"""


def q4(auctions: pl.LazyFrame, bids: pl.LazyFrame) -> pl.LazyFrame:
    """One join, a group_by per auction, one per category."""
    return (
        auctions.select("id", "category", "expires", pl.col("ts").alias("opened"))
        .join(bids, left_on="id", right_on="auction")
        .filter((pl.col("ts") >= pl.col("opened")) & (pl.col("ts") <= pl.col("expires")))
        .group_by((_time("ts") // (10 * SECOND)).alias("w"), "id", "category")
        .agg(pl.col("price").max())
        .group_by("w", "category")
        .agg(pl.col("price").mean())
        .select(
            (pl.col("w") * 10 * SECOND).cast(pl.Datetime("us")).alias("window_start"),
            ((pl.col("w") + 1) * 10 * SECOND).cast(pl.Datetime("us")).alias("window_end"),
            "category",
            "price",
        )
    )


_PERSONS = Input("persons", "persons", ("ts", "id", "name", "state"), 0.25)
_AUCTIONS = Input("auctions", "auctions", ("ts", "id", "seller", "category", "reserve"), 0.75)


def _race(
    name: str, title: str, rows: int, target: float, sql: str, polars: object, duckdb: str, *inputs: Input
) -> Race:
    return Race(name, title, "", rows, (), True, target, sql, polars, duckdb, inputs=inputs)  # type: ignore[arg-type]


RACES = (
    _race("join-flows", "sliding join of two flows on four columns within 5 s, count per 10 s, memory", 10_000_000, 0.5,
          FLOWS, flows, FLOWS_DUCKDB,
          *(Input(n, n, ("ts", "src", "dst", "sport", "dport"), 0.5) for n in ("packets", "answers"))),
    _race("q8", "NEXMark q8: new users who open auctions, tumbling 10 s, memory", 5_000_000, 0.7, Q8, q8, Q8_DUCKDB,
          _PERSONS, _AUCTIONS),
    _race("q3", "NEXMark q3: auctions of one category by sellers of three states, 60 s, memory", 5_000_000, 0.0,
          Q3, q3, Q3_DUCKDB, _PERSONS, _AUCTIONS),
    _race("q4", "NEXMark q4: average closing price of a category, memory", 5_000_000, 0.0, Q4, q4, Q4_DUCKDB,
          Input("auctions", "auctions_of_bids", ("ts", "id", "category", "expires"), 0.2),
          Input("bids", "bids_of_auctions", ("ts", "auction", "price"), 0.8)),
)  # fmt: skip
