"""OA-Join against order-preserving joins: memory, latency and execution time as in window-queries thesis Figures 7-6 and 7-7.

Query Q7-2: packets of two ordered, synchronised links that are in the same flow in opposite directions within n seconds, counted
per 10 seconds of the first one's time. *OA-Join* gives pairs as they are found, and the count takes them in any order.
*OPOB-Join* holds found pairs back until they can be given in order of the first one's time; *OPIB-Join* holds packets of the
first link back until all their partners are there. All find pairs with the same operator: what differs is what order costs.
`python ordered_join.py [rows] [window in seconds ...]`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import data
import numpy as np
import polars as pl

from jupyter_stream.core.messages import TS, Batch, Message, Punctuation
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.functions import Column
from jupyter_stream.joins.window_join import WindowJoin
from jupyter_stream.joins.window_join_config import WindowJoinConfig

SECOND = 1_000_000
COUNTED = 10 * SECOND
SLICE = SECOND // 10
"""Rows come in batches of so much stream time, each followed by a punctuation."""
COLUMNS = ("src", "dst", "sport", "dport")
FIRST = "l_ts"


def join(window: int) -> WindowJoin:
    """Q7-2's join; of its rows the first packet's time is wanted."""
    left = Schema((*(Field(c, pl.Int64()) for c in COLUMNS), Field(FIRST, pl.Int64())))
    right = Schema(tuple(Field(c, pl.Int64()) for c in COLUMNS))
    names = tuple(f"{c}_2" for c in COLUMNS)
    schema = Schema((*left, *(Field(n, pl.Int64()) for n in names)))
    pairs = (("src", "dst"), ("dst", "src"), ("sport", "dport"), ("dport", "sport"))
    keys = tuple((Column(a, pl.Int64()), Column(b, pl.Int64())) for a, b in pairs)
    lives = (window, window)
    return WindowJoin(
        WindowJoinConfig(
            "inner", left, right, names, schema, keys, None, 1 - window, window - 1, lives, frozenset([FIRST])
        )
    )


@dataclass
class OAJoin:
    """Pairs as they are found, counted in any order.

    Attributes:
        window: microseconds.
        answers: count of each extent, by its number.
        latencies: seconds from the punctuation that makes a count final to the count.
    """

    window: int
    answers: dict[int, int] = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.join = join(self.window)
        self.reached = [0, 0]
        self.counts: dict[int, int] = {}
        self.closed: int | None = None

    @property
    def bytes(self) -> int:
        """What is held."""
        return self.join.control.bytes + 16 * len(self.counts) + self.buffered

    @property
    def buffered(self) -> int:
        """What is held for the sake of order."""
        return 0

    def batch(self, port: int, frame: pl.DataFrame) -> None:
        """Rows of a link."""
        self.found(self.join.on_batch(port, Batch(frame)))

    def punctuation(self, port: int, value: int) -> None:
        """A link has come so far; counts that are final now are given."""
        began = time.perf_counter()
        self.reached[port] = value
        self.passed(port, value)
        done = (
            min(self.reached[0], self.reached[1] - self.window) // COUNTED
        )  # the joint punctuation on the first one's time
        before, self.closed = self.closed, done if self.closed is None else max(done, self.closed)
        for extent in [e for e in self.counts if e < done]:
            self.answers[extent] = self.counts.pop(extent)
        if before is not None and done > before:
            self.latencies.append(time.perf_counter() - began)

    def passed(self, port: int, value: int) -> None:
        """Tell the join."""
        self.found(self.join.on_punctuation(port, Punctuation(value)))

    def found(self, messages: Iterable[Message]) -> None:
        """Take the join's rows."""
        for message in messages:
            if isinstance(message, Batch):
                self.count(message.frame.get_column(FIRST).to_numpy())

    def count(self, times: np.ndarray) -> None:
        """Fold pairs into their extents."""
        extents, many = np.unique(times // COUNTED, return_counts=True)
        for extent, n in zip(extents.tolist(), many.tolist(), strict=True):
            self.counts[extent] = self.counts.get(extent, 0) + n


class OPOBJoin(OAJoin):
    """Order-preserving, output-buffered: pairs are given in order of the first one's time."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.held = np.empty(0, np.int64)

    @property
    def buffered(self) -> int:
        """Pairs found and not given."""
        return self.held.nbytes * (
            2 * len(COLUMNS) + 2
        )  # of each pair the packets' columns and times, as the others hold them

    def found(self, messages: Iterable[Message]) -> None:
        """Hold pairs back."""
        found = [m.frame.get_column(FIRST).to_numpy() for m in messages if isinstance(m, Batch)]
        if found:
            self.held = np.concatenate([self.held, *found])

    def passed(self, port: int, value: int) -> None:
        """Give those in order that no pair to come is before."""
        super().passed(port, value)
        due = self.held < min(self.reached[0], self.reached[1] - self.window)
        if due.any():
            self.count(np.sort(self.held[due]))
            self.held = self.held[~due]


class OPIBJoin(OAJoin):
    """Order-preserving, input-buffered: a packet of the first link is joined once all its partners are there."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.held: list[pl.DataFrame] = []

    @property
    def buffered(self) -> int:
        """Packets that wait."""
        return sum(int(f.estimated_size()) for f in self.held)

    def batch(self, port: int, frame: pl.DataFrame) -> None:
        """Hold the first link's rows back."""
        if port == 0:
            self.held.append(frame)
        else:
            super().batch(port, frame)

    def passed(self, port: int, value: int) -> None:
        """Join those whose partners are all there, in order."""
        if port == 1:
            self.found(self.join.on_punctuation(1, Punctuation(value)))
        ready = min(self.reached[0], self.reached[1] - self.window)
        due = [f.filter(pl.col(TS) < ready) for f in self.held]
        self.held = [rest for f in self.held if (rest := f.filter(pl.col(TS) >= ready)).height]
        rows = pl.concat(due) if due else None
        if rows is not None and rows.height:
            self.found(self.join.on_batch(0, Batch(rows.sort(TS))))
        self.found(self.join.on_punctuation(0, Punctuation(ready)))


def links(rows: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Two links in order of time, with `rows` packets together."""

    def link(name: str) -> pl.DataFrame:
        frame = data.frame(name, rows // 2, ("ts", *COLUMNS)).sort("ts")
        return frame.with_columns(pl.col("ts").to_physical().alias(TS)).with_columns(pl.col(TS).alias(FIRST)).drop("ts")

    return link("packets"), link("answers")


def slices(frames: tuple[pl.DataFrame, pl.DataFrame]) -> Iterator[tuple[int, pl.DataFrame, int]]:
    """Input, rows and the punctuation after them, the two links by turns."""
    at = [f.get_column(TS).to_numpy() for f in frames]
    for end in range(int(min(a[0] for a in at)) + SLICE, int(max(a[-1] for a in at)) + SLICE + 1, SLICE):
        for port in (0, 1):
            first, last = np.searchsorted(at[port], [end - SLICE, end])
            yield port, frames[port][int(first) : int(last)], end


def run(kind: type[OAJoin], window: int, frames: tuple[pl.DataFrame, pl.DataFrame]) -> tuple[OAJoin, int, int, float]:
    """The join after all rows, the most bytes it held, the most of them for the sake of order, and seconds."""
    contender = kind(window)
    most, ordered, began = 0, 0, time.perf_counter()
    for port, rows, end in slices(frames):
        if rows.height:
            contender.batch(port, rows)
        contender.punctuation(port, end)
        most, ordered = max(most, contender.bytes), max(ordered, contender.buffered)
    return contender, most, ordered, time.perf_counter() - began


def main() -> None:
    """Print the lines."""
    asked = [int(a) for a in sys.argv[1:]]
    rows, windows = (asked or [1_000_000])[0], asked[1:] or [1, 3, 5, 7, 9]
    frames = links(rows)
    for seconds in windows:
        print(f"  n = {seconds} s, {rows / 1e6:g} M rows")
        answers: dict[int, int] | None = None
        for kind in (OAJoin, OPOBJoin, OPIBJoin):
            done, most, ordered, spent = run(kind, seconds * SECOND, frames)
            middle = np.median(np.array(done.latencies)) * 1e3
            same = "" if answers is None or answers == done.answers else ", OTHER ANSWERS"
            answers = answers or done.answers
            print(
                f"    {kind.__name__:9s} {most / 1e6:7.2f} MB at most, for order {ordered / 1e6:.2f} MB; "
                f"latency {middle:.2f} ms (median of {len(done.latencies)}); {spent:.2f} s{same}",
                flush=True,
            )


if __name__ == "__main__":
    main()
