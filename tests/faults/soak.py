"""A soak: ten queries of every kind over a live stream, for an hour; memory, threads and file descriptors must stay flat.

`python tests/faults/soak.py` runs for an hour at 100,000 rows/s; `--minutes 5 --rate 20000` for less. It prints a line every ten
seconds, then the slope of each figure over the second half with its standard error, and exits with 1 where one grows by more
than noise: more than three standard errors, and more than 20 MB (or 2 threads, 5 descriptors) an hour. The first half is for
what is kept of answers and late rows to reach its bound, and for allocators to have what they need. A machine that can't hold
the rate is told of, as a share of it: rows that are held back for more than a second are not made, so they are no growth.
"""

from __future__ import annotations

import argparse
import gc
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import polars as pl
import psutil

from jupyter_stream import Session

QUERIES = {
    "tumbling": "SELECT k, count(*) AS n FROM s [RANGE 1 SECOND TUMBLING] GROUP BY k",
    "sliding": "SELECT k, avg(v) AS v, max(v) AS top FROM s [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY k",
    "filter": "SELECT k, v FROM s WHERE v > 0.999",
    "distinct": "SELECT count(DISTINCT u) AS n FROM s [RANGE 5 SECONDS SLIDE 1 SECOND]",
    "rows": "SELECT k, sum(v) AS v FROM s [PARTITION BY k ROWS 1000 SLIDE 1000] GROUP BY k",
    "session": "SELECT k, count(*) AS n FROM s [SESSION 1 SECOND] WHERE v > 0.9999 GROUP BY k",
    "relation": "SELECT k, count(*) AS n FROM s [RANGE 2 SECONDS] WHERE v > 0.999 GROUP BY k",
    "join": "SELECT a.k, a.v, b.v AS w FROM s [RANGE 1 SECOND] a JOIN s [RANGE 1 SECOND] b ON a.u = b.u "
            "WHERE a.v > 0.999 AND b.v > 0.999",
    "over": "SELECT k, avg(v) OVER (PARTITION BY k ROWS 10 PRECEDING) AS v FROM s WHERE v > 0.999",
    "top": "SELECT k, count(*) AS n FROM s [RANGE 5 SECONDS] WHERE v > 0.999 GROUP BY k ORDER BY n DESC LIMIT 3",
}  # fmt: skip
HELD = 0.95
"""The share of the rate that counts as held."""
ALLOWED = {"rss_mb": 20.0, "threads": 2.0, "descriptors": 5.0}


def rows(rate: int, stop: threading.Event) -> Iterator[pl.DataFrame]:
    """So many rows a second, shuffled within a second, and now and then one that is late."""
    rng = np.random.default_rng(1)
    began, sent = time.monotonic(), 0
    while not stop.is_set():
        due = int((time.monotonic() - began) * rate) - sent
        if due < 1000:
            time.sleep(0.005)
            continue
        now = time.time_ns() // 1000
        sent += due
        due = min(due, rate)  # more than a second's rows have been held back: the rest of them is never made
        yield pl.DataFrame(
            {
                "k": rng.integers(0, 100, due),
                "u": rng.integers(0, 100_000, due),
                "v": rng.random(due),
                "ts": now - rng.integers(0, 1_000_100, due),
            }
        )


def slope(at: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Growth an hour and its standard error, of the second half."""
    half = at.size // 2
    x, y = at[half:] / 3600, values[half:]
    x = x - x.mean()
    best = float((x * (y - y.mean())).sum() / (x**2).sum())
    rest = y - y.mean() - best * x
    return best, float(np.sqrt((rest**2).sum() / max(1, x.size - 2) / (x**2).sum()))


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=int, default=100_000)
    said = parser.parse_args()
    process, stop = psutil.Process(), threading.Event()
    figures: list[tuple[float, float, int, int]] = []
    with Session({"source": rows(said.rate, stop)}) as session:
        session.execute(
            "CREATE STREAM s (k BIGINT, u BIGINT, v DOUBLE, ts BIGINT, WATERMARK FOR ts AS ts - INTERVAL 1 SECOND) "
            "SOURCE 'python://source'"
        )
        queries = [session.execute(text, name=name, keep=10_000)[0] for name, text in QUERIES.items()]
        began = time.monotonic()
        while (gone := time.monotonic() - began) < said.minutes * 60:
            time.sleep(10)
            gc.collect()
            found = (process.memory_info().rss / 1e6, process.num_threads(), process.num_fds())
            figures.append((gone, *found))
            rate = queries[0].stats["rows_in"] / (time.monotonic() - began)
            failed = [f"{q.name} {q.status}: {q.snapshot(0).error}" for q in queries if q.status != "running"]
            print(f"{gone:6.0f} s  {found[0]:8.1f} MB  {found[1]:3d} threads  {found[2]:3d} descriptors  {rate:9,.0f} rows/s",
                  *failed, flush=True)  # fmt: skip
        dropped = [q.status for q in queries]
        stop.set()
        at, *columns = np.array(figures).T
        good = all(status == "running" for status in dropped)
        held = queries[0].stats["rows_in"] / (time.monotonic() - began)
        print(f"rate: {held:,.0f} rows/s of {said.rate:,} ({held / said.rate:.0%})"
              f"{'' if held > HELD * said.rate else ', NOT HELD: the machine is too slow for it, or too busy'}")  # fmt: skip
        for name, values in zip(ALLOWED, columns, strict=True):
            best, error = slope(at, values)
            grows = best > 3 * error and best * said.minutes / 60 > ALLOWED[name]
            good &= not grows
            print(
                f"{name}: {best:+.2f} an hour over the second half, standard error {error:.2f}, {'GROWS' if grows else 'flat'}"
            )
        late = {q.name: q.late.height for q in queries}
        print(f"late rows kept: {late}; states: {dropped}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
