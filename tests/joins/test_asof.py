"""ASOF joins and temporal joins of streams in disorder: for each row the newest of its key up to its time, and UNNEST of them."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.engine.progress import FAR

START = dt.datetime(2024, 1, 1)
STREAMS = """
CREATE STREAM a (k STRING, n BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 20 SECONDS) SOURCE 'frame://a_rows';
CREATE STREAM b (k STRING, n BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 20 SECONDS) SOURCE 'frame://b_rows';
"""


def drawn(seed: int, count: int, times: range) -> pl.DataFrame:
    """Rows that come up to twenty seconds late, of a time each."""
    dice = random.Random(seed)
    seconds = dice.sample(times, count)
    seconds.sort(key=lambda s: s + dice.uniform(0, 19))
    rows = [(dice.choice("xyz"), i, START + dt.timedelta(seconds=s)) for i, s in enumerate(seconds)]
    return pl.DataFrame(rows, schema={"k": pl.String, "n": pl.Int64, "ts": pl.Datetime("us")}, orient="row")


def newest(rows: pl.DataFrame, k: str, at: dt.datetime | int) -> int | None:
    found = [(ts, n) for key, n, ts in rows.rows() if key == k and ts <= at]
    return max(found)[1] if found else None


@pytest.mark.parametrize("seed", range(3))
def test_each_row_meets_the_newest_one_up_to_its_time(seed: int) -> None:
    a, b = drawn(seed, 30, range(0, 120)), drawn(seed + 100, 20, range(0, 120))
    wanted = [(k, n, newest(b, k, ts)) for k, n, ts in a.rows()]
    queries = {
        "SELECT a.k, a.n, b.n AS m FROM a ASOF LEFT JOIN b ON a.k = b.k AND b.ts <= a.ts": wanted,
        "SELECT a.k, a.n, b.n AS m FROM a ASOF JOIN b USING (k, ts)": [row for row in wanted if row[2] is not None],
        "SELECT a.k, a.n, b.n AS m FROM a LEFT JOIN b FOR SYSTEM_TIME AS OF a.ts ON a.k = b.k": wanted,
    }
    with Session({"a_rows": a, "b_rows": b}) as session:
        session.execute(STREAMS)
        for text, rows in queries.items():
            query: Any = session.execute(text)[-1]
            assert query.wait(200) and query.status == "finished", query.snapshot().error
            assert sorted(query.to_polars().rows(), key=str) == sorted(rows, key=str), text


@pytest.mark.parametrize("base", [-FAR, FAR - 120])
def test_near_the_ends_of_time_as_well(base: int) -> None:
    dice = random.Random(base)
    frames = {}
    for name, count in (("a", 30), ("b", 20)):
        times = sorted(dice.sample(range(120), count), key=lambda t: t + dice.uniform(0, 19))
        rows = [(dice.choice("xyz"), i, base + t) for i, t in enumerate(times)]
        frames[name] = pl.DataFrame(rows, schema={"k": pl.String, "n": pl.Int64, "ts": pl.Int64}, orient="row")
    wanted = [(k, n, newest(frames["b"], k, ts)) for k, n, ts in frames["a"].rows()]
    with Session(frames) as session:
        for name in frames:
            session.execute(
                f"CREATE STREAM {name} (k STRING, n BIGINT, ts BIGINT, WATERMARK FOR ts AS ts - 20) SOURCE 'frame://{name}'"
            )
        for text in (
            "SELECT a.k, a.n, b.n AS m FROM a ASOF LEFT JOIN b ON a.k = b.k AND b.ts <= a.ts",
            "SELECT a.k, a.n, b.n AS m FROM a LEFT JOIN b FOR SYSTEM_TIME AS OF a.ts ON a.k = b.k",
        ):
            query: Any = session.execute(text)[-1]
            assert query.wait(200) and query.status == "finished", query.snapshot().error
            assert sorted(query.to_polars().rows(), key=str) == sorted(wanted, key=str), text


def test_items_go_with_their_row_and_its_lifetime() -> None:
    a = drawn(7, 30, range(0, 120))
    text = """SELECT a.k, i, b.n FROM a [RANGE 10 SECONDS], UNNEST(sequence(1, a.n % 3)) AS u (i), b [RANGE 10 SECONDS]
              WHERE a.k = b.k"""
    plain = "SELECT a.k, a.n % 3 AS i, b.n FROM a [RANGE 10 SECONDS], b [RANGE 10 SECONDS] WHERE a.k = b.k"
    with Session({"a_rows": a, "b_rows": drawn(8, 20, range(0, 120))}) as session:
        session.execute(STREAMS)
        found, pairs = (session.execute(q)[-1] for q in (text, plain))
        assert found.wait(200) and pairs.wait(200)  # type: ignore[union-attr]
        # sequence(1, 0) counts down: 1, 0
        items = {0: (1, 0), 1: (1,), 2: (1, 2)}
        wanted = [(k, i, n) for k, m, n in pairs.to_polars().rows() for i in items[m]]  # type: ignore[union-attr]
        assert sorted(found.to_polars().rows()) == sorted(wanted)  # type: ignore[union-attr]
