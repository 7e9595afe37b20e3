"""Closing a window of a million groups: the longest pause of input, from taking one batch to taking the next, with all that is
done in between. Target: 50 ms. Rows are in memory, 64k a batch, and there is always a next batch.

Three queries over keys drawn from a million: *tumbling*, every window meets the same keys; *changing*, every window has keys
of its own, so that the groups of the last one are let go meanwhile; *sliding*, range / slide 4, with a maximum, which can't be
taken back. The pauses of the first windows, in which tables grow, are told apart,
and so is that of the very first batch, before which nothing can be known.
`python flush.py [names]`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

import jupyter_stream
from jupyter_stream.schedulers import RoundRobin
from jupyter_stream.schedulers.protocol import Choice
from jupyter_stream.sources import BATCH_ROWS

GROUPS = 1_000_000
ROWS = 4_000_000
"""In a window (a slide where it slides)."""
WINDOWS = 5
SECOND = 1_000_000

CASES = {
    "tumbling": ("[RANGE 60 SECONDS TUMBLING]", "count(*) AS n, sum(value) AS total, max(value) AS most", False),
    "changing": ("[RANGE 60 SECONDS TUMBLING]", "count(*) AS n, sum(value) AS total, max(value) AS most", True),
    "sliding": (
        "[RANGE 240 SECONDS SLIDE 60 SECONDS]",
        "count(*) AS n, sum(value) AS total, max(value) AS most",
        False,
    ),
}


class Watched(RoundRobin):
    """Notes when each batch is taken, and how far the stream was then."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[float] = []
        self.worked: list[float] = []
        self.reached: list[int] = []

    def choose(self, ready: Sequence[Choice]) -> Choice:
        """As round robin does."""
        chosen = super().choose(ready)
        self.taken.append(time.perf_counter())
        self.worked.append(time.thread_time())
        self.reached.append(chosen.low_watermark)  # type: ignore[attr-defined]
        return chosen


def rows(changing: bool) -> pl.DataFrame:
    """Rows of all windows, in a band of disorder of 3.2 s."""
    rng = np.random.default_rng(17)
    count = ROWS * WINDOWS
    window = np.arange(count) // ROWS
    keys = rng.integers(0, GROUPS, count)
    if changing:
        keys += window * GROUPS
    ts = np.arange(count) * (60 * SECOND) // ROWS + 1_735_689_600 * SECOND - rng.integers(0, 3_200_000, count)
    frame = pl.DataFrame({"ts": ts, "key": keys * 7_919, "value": rng.integers(0, 1_000_000, count)})
    return frame.with_columns(pl.col("ts").cast(pl.Datetime("us")))


def handed_over(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The batches a source hands over."""
    yield from frame.iter_slices(BATCH_ROWS)


def run(name: str) -> None:
    """One line for each stage of the stream."""
    window, aggregates, changing = CASES[name]
    frame = rows(changing)
    watched = Watched()
    session = jupyter_stream.Session({"batches": lambda: handed_over(frame)}, watched)
    session.execute(
        "CREATE STREAM rows (ts TIMESTAMP, key BIGINT, value BIGINT, "
        "WATERMARK FOR ts AS ts - INTERVAL 3200 MILLISECONDS) SOURCE 'python://batches'"
    )
    (query,) = session.execute(f"SELECT key, {aggregates} FROM rows {window} GROUP BY key", keep=1_000)
    query.wait()
    stats = query.stats
    session.close()
    pauses, worked = np.diff(np.array([watched.taken, watched.worked])) * 1e3
    second = np.array(watched.reached[:-1]) / SECOND - 1_735_689_600
    print(f"  {name}: {window}, {stats['rows_out']:,} answers, state at most {stats['peak_state_bytes'] / 1e6:,.0f} MB")
    stages = (
        ("the first batch", second < -1e6),
        ("while tables grow", (second >= -1e6) & (second < 130)),
        ("then", (second >= 130) & (second < 1e6)),
    )
    for title, which in stages:
        worst = pauses[which]
        busiest = worked[which]
        print(
            f"    {title:18s} longest pause {worst.max():6.1f} ms (target 50), at second {second[which][worst.argmax()]:5.1f}; "
            f"99 % {np.quantile(worst, 0.99):5.1f} ms, median {np.median(worst):4.1f} ms; "
            f"of processor time {busiest.max():5.1f} ms at {second[which][busiest.argmax()]:5.1f}, "
            f"99 % {np.quantile(busiest, 0.99):5.1f}, median {np.median(busiest):4.1f} ms"
        )


if __name__ == "__main__":
    print(f"{ROWS * WINDOWS:,} rows, {GROUPS:,} keys")
    for each in sys.argv[1:] or CASES:
        run(each)
