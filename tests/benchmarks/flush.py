"""Closing a window of a million groups: the longest pause of input, from taking one batch to taking the next, with all that is
done in between. Target: 50 ms. Rows are in memory, 64k a batch, and there is always a next batch.

Queries over keys drawn from a million: *tumbling*, every window meets the same keys; *changing*, every window has keys
of its own, so that the groups of the last one are let go meanwhile; *new*, every row has a key of its own; *sliding*,
range / slide 4, with a maximum, which can't be taken back. Keys are BIGINT, or *text*, or *two* columns, one of them text.

The pauses of the first windows, in which tables grow, are told apart, and that of the very first batch too, before which nothing
can be known. A busy machine makes any pause longer, so each case runs several times: *every time* is the longest pause of those
that a batch took in each of the runs, which is what the engine is answerable for.
`python flush.py [--times n] [names]`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

import jupyter_stream
from jupyter_stream.schedulers import FirstCome
from jupyter_stream.schedulers.protocol import Choice
from jupyter_stream.sources import BATCH_ROWS

GROUPS = 1_000_000
ROWS = 4_000_000
"""In a window (a slide where it slides)."""
WINDOWS = 5
SECOND = 1_000_000
START = 1_735_689_600
"""Of stream time, seconds."""

TIMES = 3

_TUMBLING = "[RANGE 60 SECONDS TUMBLING]"
_SLIDING = "[RANGE 240 SECONDS SLIDE 60 SECONDS]"


@dataclass(frozen=True)
class Case:
    """Rows and a query.

    Attributes:
        window: the query's.
        keys: whether windows have the same keys, keys of their own, or every row has.
        kind: the key's columns.
    """

    window: str = _TUMBLING
    keys: Literal["same", "changing", "new"] = "same"
    kind: Literal["number", "text", "two"] = "number"


CASES = {
    "tumbling": Case(),
    "changing": Case(keys="changing"),
    "new": Case(keys="new"),
    "sliding": Case(window=_SLIDING),
    "text": Case(kind="text"),
    "text-changing": Case(kind="text", keys="changing"),
    "text-new": Case(kind="text", keys="new"),
    "two": Case(kind="two"),
    "two-changing": Case(kind="two", keys="changing"),
    "two-new": Case(kind="two", keys="new"),
}


class Watched(FirstCome):
    """Notes when each batch is taken, and how far the stream was then."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[float] = []
        self.worked: list[float] = []
        self.reached: list[int] = []
        self.rows: list[int] = []

    def choose(self, ready: Sequence[Choice]) -> Choice:
        """As round robin does."""
        chosen = super().choose(ready)
        self.taken.append(time.perf_counter())
        self.worked.append(time.process_time())
        self.reached.append(chosen.low_watermark)
        self.rows.append(chosen.control.rows_in)  # type: ignore[attr-defined]  # of a Feed
        return chosen


def rows(case: Case) -> pl.DataFrame:
    """Rows of all windows, in a band of disorder of 3.2 s."""
    rng = np.random.default_rng(17)
    per_window = GROUPS if case.keys == "new" else ROWS
    count = per_window * WINDOWS
    window = np.arange(count) // per_window
    keys = rng.permutation(count) if case.keys == "new" else rng.integers(0, GROUPS, count)
    if case.keys == "changing":
        keys += window * GROUPS
    ts = np.arange(count) * (60 * SECOND) // per_window + START * SECOND - rng.integers(0, 3_200_000, count)
    key = pl.Series("key", keys * 7_919)
    columns = [key]
    if case.kind == "text":
        columns = [pl.select("customer " + key.cast(pl.String)).to_series().alias("key")]
    elif case.kind == "two":
        columns = [key // 7_919_000, pl.Series("part", keys % 1_000).cast(pl.String)]
    frame = pl.DataFrame([pl.Series("ts", ts), *columns, pl.Series("value", rng.integers(0, 1_000_000, count))])
    return frame.with_columns(pl.col("ts").cast(pl.Datetime("us")))


def handed_over(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The batches a source hands over."""
    yield from frame.iter_slices(BATCH_ROWS)


def once(case: Case, frame: pl.DataFrame) -> tuple[Watched, dict[str, Any]]:
    """One run."""
    watched = Watched()
    session = jupyter_stream.Session({"batches": lambda: handed_over(frame)}, watched)
    names = {
        "number": ("key BIGINT", "key"),
        "text": ("key STRING", "key"),
        "two": ("key BIGINT, part STRING", "key, part"),
    }
    columns, keys = names[case.kind]
    session.execute(
        f"CREATE STREAM rows (ts TIMESTAMP, {columns}, value BIGINT, "
        "WATERMARK FOR ts AS ts - INTERVAL 3200 MILLISECONDS) SOURCE 'python://batches'"
    )
    (query,) = session.execute(
        f"SELECT {keys}, count(*) AS n, sum(value) AS total, max(value) AS most FROM rows {case.window} GROUP BY {keys}",
        keep=1_000,
    )
    query.wait()
    stats = query.stats
    session.close()
    return watched, stats


def by_rows(values: NDArray[np.float64], rows: list[int]) -> NDArray[np.float64]:
    """The longest of what was seen while each batch of the source was taken, in whatever pieces; milliseconds."""
    first = np.array(rows[:-1]) // BATCH_ROWS
    last = np.maximum(first, (np.array(rows[1:]) - 1) // BATCH_ROWS)
    longest = np.full(int(last.max()) + 1, -np.inf)
    for spread in range(int((last - first).max()) + 1):
        np.maximum.at(longest, np.minimum(first + spread, last), values)
    return longest * 1e3


def run(name: str, times: int) -> None:
    """One line for each stage of the stream."""
    case = CASES[name]
    frame = rows(case)
    runs, stats = zip(*(once(case, frame) for _ in range(times)), strict=True)
    pauses = np.stack([by_rows(np.diff(r.taken), r.rows) for r in runs])
    worked = np.stack([by_rows(np.diff(r.worked), r.rows) for r in runs])
    second = np.stack([by_rows(np.array(r.reached[:-1]) / SECOND - START, r.rows) for r in runs]).max(0) / 1e3
    first = np.arange(second.size) == 0
    state = max(s["peak_state_bytes"] for s in stats) / 1e6
    print(f"  {name}: {case.window}, {stats[0]['rows_out']:,} answers, state at most {state:,.0f} MB")
    stages = (
        ("the first batch", first),
        ("while tables grow", ~first & (second < 130)),
        ("then", ~first & (second >= 130) & (second < 1e6)),
    )
    for title, which in stages:
        each, least, busy = pauses[:, which], pauses[:, which].min(0), worked[:, which]
        place = (
            "" if which is first else f" at second {second[which][least.argmax()]:.1f}"
        )  # nothing is promised before it
        print(
            f"    {title:18s} longest pause every time {least.max():5.1f} ms (target 50){place}; "
            f"run by run {', '.join(f'{p:.1f}' for p in each.max(1))}; "
            f"99 % {np.quantile(each, 0.99):5.1f}, median {np.median(each):4.1f} ms; "
            f"of processor time run by run {', '.join(f'{p:.1f}' for p in busy.max(1))}, every time {busy.min(0).max():.1f} ms",
            flush=True,
        )


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*CASES, []], help="cases; all where none is given")
    parser.add_argument("--times", type=int, default=TIMES, help="runs of each case")
    asked = parser.parse_args()
    print(f"{ROWS * WINDOWS:,} rows, {GROUPS:,} keys")
    for each in asked.names or CASES:
        run(each, asked.times)


if __name__ == "__main__":
    main()
