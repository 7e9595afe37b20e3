"""What a checkpoint costs a query: how long a cut stops it, what cuts every 10 seconds take, and how long it takes to go on.

`python checkpoints.py [--rows N] [--only NAME ...]`. Rows are a replay of a frame at full speed, with 100,000 keys. Pauses are
of cuts every 300 ms of the same run, beside the bytes of each; processor time is of whole runs, with cuts and without.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl

from jupyter_stream import Session
from jupyter_stream.checkpoints import state
from jupyter_stream.checkpoints.arena import Arena
from jupyter_stream.engine.cuts import Cuts

STREAM = "CREATE STREAM s (ts TIMESTAMP, k BIGINT, v DOUBLE, WATERMARK FOR ts AS ts - INTERVAL 1 SECOND) SOURCE 'frame://rows'"
QUERIES = {
    "sliding sums": "SELECT k, sum(v) AS v, count(*) AS n FROM s [RANGE 60 SECONDS SLIDE 5 SECONDS] GROUP BY k",
    "medians": "SELECT k, median(v) AS m FROM s [RANGE 60 SECONDS TUMBLING] GROUP BY k",
    "sessions": "SELECT k, count(*) AS n, max(v) AS v FROM s [SESSION 5 SECONDS] GROUP BY k",
    "distinct": "SELECT ISTREAM DISTINCT k, v FROM s [RANGE 30 SECONDS]",
    "sliding join": "SELECT a.k, a.v, b.v AS w FROM s [RANGE 20 SECONDS] a JOIN s [RANGE 20 SECONDS] b "
    "ON a.k = b.k AND a.v = b.v WHERE a.v > 0.99",
    "over": "SELECT k, avg(v) OVER (PARTITION BY k ORDER BY ts RANGE INTERVAL 30 SECONDS PRECEDING) AS v FROM s",
}


def rows(count: int) -> pl.DataFrame:
    """A stream of `count` rows, 50,000 in a second, up to a second out of order."""
    rng = np.random.default_rng(7)
    ts = 1_735_689_600_000_000 + np.arange(count) * 20 + rng.integers(-900_000, 0, count)
    columns = {"ts": ts, "k": rng.integers(0, 100_000, count), "v": rng.random(count)}
    return pl.DataFrame(columns).with_columns(pl.col("ts").cast(pl.Datetime("us")))


def run(text: str, frame: pl.DataFrame, folder: Path | None, every: str) -> float:
    """Run a query to its end, with cuts in a folder. Returns seconds of processor time."""
    session = Session(namespace={"rows": frame})
    try:
        session.execute(STREAM)
        before = resource.getrusage(resource.RUSAGE_SELF)
        given = {} if folder is None else {"checkpoint": str(folder), "checkpoint_every": every}
        [query] = session.execute(text, keep=1000, **given)
        query.wait()
        after = resource.getrusage(resource.RUSAGE_SELF)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    finally:
        session.close()


@contextmanager
def watched() -> Iterator[list[tuple[int, float, float]]]:
    """The cuts taken meanwhile: bytes, seconds the query stood still, and of these the seconds of taking its state."""
    seen: list[tuple[int, float, float]] = []
    took: list[tuple[int, float]] = []
    take, taken = Cuts.take, state.taken

    def note_taken(anchors: state.Anchors, arena: Arena) -> state.TakenState:
        began = time.perf_counter()
        found = taken(anchors, arena)
        took.append((found.bytes, time.perf_counter() - began))
        return found

    def note(cuts: Cuts, *, ended: bool = False) -> None:
        take(cuts, ended=ended)
        seen.append((took[-1][0], cuts.pause, took[-1][1]))

    Cuts.take, state.taken = note, note_taken  # type: ignore[method-assign]  # measured, not replaced
    try:
        yield seen
    finally:
        Cuts.take, state.taken = take, taken  # type: ignore[method-assign]  # as before


def restored(text: str, frame: pl.DataFrame, folder: Path) -> tuple[int, float]:
    """Stop a query when it has read two thirds, and start it again. Returns the cut's bytes and the seconds to take it up."""
    session = Session(namespace={"rows": frame})
    session.execute(STREAM)
    [query] = session.execute(text, keep=1000, checkpoint=str(folder))
    while query.snapshot().rows_in < frame.height * 2 / 3 and query.snapshot().state in ("waiting", "running"):
        time.sleep(0.01)
    query.stop()
    session.close()
    took: list[float] = []
    begin = Cuts.begin

    def note(cuts: Cuts, *given: object) -> bool:
        began = time.perf_counter()
        more = begin(cuts, *given)  # type: ignore[arg-type]  # as it was called
        took.append(time.perf_counter() - began)
        return more

    Cuts.begin = note  # type: ignore[method-assign]  # measured, not replaced
    session = Session(namespace={"rows": frame})
    try:
        session.execute(STREAM)
        [query] = session.execute(text, keep=1000, checkpoint=str(folder))
        query.wait()
    finally:
        Cuts.begin = begin  # type: ignore[method-assign]  # as before
        session.close()
    return max((p.stat().st_size for p in folder.glob("cut-*")), default=0), took[-1]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=6_000_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(QUERIES))
    asked = parser.parse_args()
    frame = rows(asked.rows)
    heads = ("cut, MB", "pause, ms", "the longest", "for 100 MB", "time with cuts", "go on, s")
    print("query".ljust(16) + "".join(h.rjust(15) for h in heads))
    for name in asked.only:
        text = QUERIES[name]
        with tempfile.TemporaryDirectory() as at, watched() as seen:
            run(text, frame, Path(at), "300 milliseconds")
        large = [(b, s) for b, s, _ in seen[:-1] if b > 1e6] or [(b, s) for b, s, _ in seen]
        pauses = [s * 1e3 for _, s in large]
        rate = statistics.median(s * 1e3 * 1e8 / b for b, s in large)
        times: list[list[float]] = [[], []]
        for _ in range(asked.times):
            for i, every in enumerate((None, "10 seconds")):
                with tempfile.TemporaryDirectory() as at:
                    times[i].append(run(text, frame, None if every is None else Path(at), every or ""))
        with tempfile.TemporaryDirectory() as at:
            _, began = restored(text, frame, Path(at))
        size = statistics.median(b for b, _ in large) / 1e6
        print(
            f"{name:<16}{size:>15.0f}{statistics.median(pauses):>15.0f}{max(pauses):>15.0f}{rate:>15.0f}"
            f"{min(times[1]) / min(times[0]):>15.2f}{began:>15.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
