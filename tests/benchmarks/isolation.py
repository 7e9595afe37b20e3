"""A light query beside a heavy one: how long its answers take, and whether any is missing.

The light one filters a live stream of 20 rows a second; measured is the time from handing over a row to the callback with
its answer. `python isolation.py [seconds] [--only NAME ...]`.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl

import jupyter_stream
from jupyter_stream import Query, Session

RATE = 20
"""Rows a second of the light query."""

STREAMS = """CREATE STREAM fast (ts TIMESTAMP, k BIGINT, v DOUBLE, WATERMARK FOR ts AS ts)
SOURCE 'python://flood' WITH (timestamp_unit = 'us');
CREATE STREAM light (ts TIMESTAMP, n BIGINT, WATERMARK FOR ts AS ts) SOURCE 'python://trickle' WITH (timestamp_unit = 'us');
CREATE STREAM lone (ts TIMESTAMP, v DOUBLE, WATERMARK FOR ts AS ts) SOURCE 'frame://one' WITH (timestamp_unit = 'us')"""

HEAVY = {
    "alone": "",
    "hop aggregate": "SELECT k, count(*) AS n, sum(v) AS v FROM fast [RANGE 60 SECONDS SLIDE 1 SECOND] GROUP BY k",
    "many keys, median": """SELECT k * 1000 + CAST(v * 1000 AS BIGINT) AS kk, median(v) AS m
FROM fast [RANGE 10 SECONDS TUMBLING] GROUP BY kk""",
    "exploding self join": "SELECT a.v FROM fast [RANGE 30 SECONDS] a, fast [RANGE 30 SECONDS] b WHERE a.k % 2 = b.k % 2",
    "cross join": "SELECT a.v, b.v AS w FROM fast [RANGE 5 SECONDS] a, fast [RANGE 5 SECONDS] b",
    "a row in 100,000 days": "SELECT count(*) AS n, median(v) AS m FROM lone [RANGE 100000 DAYS SLIDE 1 DAY]",
    "an aggregate that sleeps": "SELECT sleepy(v) AS s FROM fast [RANGE 1 SECOND TUMBLING]",
    "an aggregate that never returns": "SELECT endless(v) AS s FROM fast [RANGE 1 SECOND TUMBLING]",
}


@jupyter_stream.aggregate
class sleepy:  # noqa: N801 - the name it has in queries
    def initialize(self, value: float) -> None:
        time.sleep(0.05)

    def iterate(self, value: float) -> None:
        time.sleep(0.05)

    def terminate(self) -> float:
        return 0.0


@jupyter_stream.aggregate
class endless(sleepy):  # noqa: N801
    def iterate(self, value: float) -> None:
        while True:
            pass


def _flood() -> Iterator[pl.DataFrame]:
    """Frames of 20,000 rows, each 20 s of stream time, as fast as they are taken."""
    start, rng = 1_735_689_600_000_000, np.random.default_rng(7)
    for i in range(10_000_000):
        at = start + i * 20_000_000 + np.sort(rng.integers(0, 20_000_000, 20_000))
        yield pl.DataFrame({"ts": at, "k": rng.integers(0, 1000, 20_000), "v": rng.random(20_000)})


def _names(rows: int, handed: dict[int, float], go: threading.Event) -> dict[str, Any]:
    def trickle() -> Iterator[dict[str, object]]:
        go.wait()  # until all who are to answer are there
        start = time.perf_counter()
        for i in range(rows):
            time.sleep(max(0.0, start + i / RATE - time.perf_counter()))
            handed[i] = time.perf_counter()
            yield {"ts": 1_735_689_600_000_000 + i * 50_000, "n": i}

    return {"trickle": trickle(), "flood": _flood, "one": pl.DataFrame({"ts": [0], "v": [1.0]})}


def measure(heavy: str, seconds: float, lights: int = 1) -> tuple[int, int, np.ndarray, Query | None]:
    """Answers due, answers that came, and their latencies in milliseconds."""
    rows = int(seconds * RATE)
    handed: dict[int, float] = {}
    go = threading.Event()
    session = Session(namespace=_names(rows, handed, go))
    took: list[float] = []

    def note(frame: pl.DataFrame) -> None:
        now = time.perf_counter()
        took.extend((now - handed[n]) * 1e3 for n in frame["n"].to_list())

    try:
        session.execute(STREAMS)
        beside = session.execute(heavy)[-1] if heavy else None
        queries = [session.execute(f"SELECT n + {i} - {i} AS n FROM light WHERE n >= 0")[-1] for i in range(lights)]
        for query in queries:
            query.on_result(note)
        go.set()
        time.sleep(seconds + 2)
        return rows * lights, len(took), np.array(took or [np.nan]), beside
    finally:
        go.set()
        session.close()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=float, nargs="?", default=12.0)
    parser.add_argument("--only", nargs="*")
    asked = parser.parse_args()
    print(f"{'beside':<34}{'answers':>10}{'p50 ms':>9}{'p99 ms':>9}{'worst':>9}  the other")
    cases: list[tuple[str, Callable[[], tuple[int, int, np.ndarray, Query | None]]]] = [
        (name, lambda text=text: measure(text, asked.seconds)) for name, text in HEAVY.items()
    ]
    cases.append(("19 more on the same stream", lambda: measure("", asked.seconds, 20)))
    for name, run in cases:
        if asked.only and name not in asked.only:
            continue
        due, came, took, beside = run()
        p50, p99, worst = np.nanquantile(took, [0.5, 0.99, 1.0])
        other = "" if beside is None else repr(beside)
        print(f"{name:<34}{came:>5}/{due:<5}{p50:>8.2f}{p99:>9.2f}{worst:>9.1f}  {other}", flush=True)


if __name__ == "__main__":
    main()
