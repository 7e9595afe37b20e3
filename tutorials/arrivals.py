"""Rows that come out of order, for the figures of tutorial 3: the thesis' kinds of disorder, made from a seed.

Band disorder: rows are held up, most of them a little, none by more than so much. Block-sorted disorder: rows come in blocks,
in no order within a block (window-queries thesis §6.1.5.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from ordered import Rows

SECOND = 1_000_000


@dataclass(frozen=True)
class Arrivals:
    """Rows in the order in which they came, and when, microseconds."""

    rows: Rows
    clock: NDArray[np.int64]

    @classmethod
    def of(cls, ts: NDArray[np.int64], value: NDArray[np.float64], clock: NDArray[np.int64]) -> Arrivals:
        """Rows in any order."""
        order = np.argsort(clock, kind="stable")
        return cls(Rows(ts[order], value[order]), clock[order])

    def feed(self, size: int) -> Iterable[tuple[int, Rows]]:
        """In batches of so many rows; a batch has come when its last row has."""
        for start in range(0, self.clock.size, size):
            batch = slice(start, start + size)
            yield int(self.clock[batch][-1]), self.rows.only(batch)

    def punctuated(self, times: Iterable[int]) -> pl.DataFrame:
        """The rows with punctuations between them: each right after the last row before its time.

        Returns:
            Columns `ts`, `value`, `punctuation` (null where it is a row) and `clock`.
        """
        at = np.asarray(list(times), dtype=np.int64)
        by_time = np.argsort(self.rows.ts, kind="stable")
        complete = np.maximum.accumulate(self.clock[by_time])
        before = np.searchsorted(self.rows.ts[by_time], at)  # so many rows are before it
        rows = pl.DataFrame({"ts": self.rows.ts, "value": self.rows.value, "clock": self.clock})
        said = pl.DataFrame({"punctuation": at, "clock": np.where(before, complete[before - 1], self.clock[0])})
        both = pl.concat([rows, said], how="diagonal").sort("clock", maintain_order=True)
        return both.select("ts", "value", "punctuation", "clock")

    @property
    def disorder(self) -> float:
        """By how many seconds of its own time a row came behind a newer one, at most."""
        return float((np.maximum.accumulate(self.rows.ts) - self.rows.ts).max()) / SECOND


def band(seconds: int, rate: int, held_up: float, worst: float, seed: int) -> Arrivals:
    """Packets and their sizes, band-disordered.

    Args:
        seconds: for how long.
        rate: packets per second.
        held_up: by so many seconds on average.
        worst: and by no more than so many.
        seed: of the random numbers.
    """
    rng = np.random.default_rng(seed)
    ts = np.arange(seconds * rate) * (SECOND // rate)
    size = np.round(rng.pareto(1.5, ts.size) * 100 + 40).clip(40, 1500)
    delay = np.minimum(rng.exponential(held_up, ts.size), worst)
    return Arrivals.of(ts, size, ts + (delay * SECOND).astype(np.int64))


def blocks(number: int, seconds: int, rate: int, seed: int) -> Arrivals:
    """Blocks of so many seconds. Each is sent when it is over, at the pace at which it happened, in no order."""
    rng = np.random.default_rng(seed)
    block = np.arange(seconds * rate) * (SECOND // rate)
    ts = np.concatenate([block + b * seconds * SECOND for b in range(number)])
    sent = np.concatenate([rng.permutation(block) + (b + 1) * seconds * SECOND for b in range(number)])
    return Arrivals.of(ts, np.ones(ts.size), sent)


def link(seconds: int, every: int, pairs: int, seed: int) -> Rows:
    """Packets of a network link, in order, one `every` so many microseconds.

    The value is the number of their pair of source and destination, one of so many.
    """
    rng = np.random.default_rng(seed)
    ts = np.arange(0, seconds * SECOND, every)
    return Rows(ts, rng.integers(0, pairs, ts.size).astype(float))


def skewed(seconds: int, every: int, share: float, lives: int, seed: int) -> Rows:
    """Packets of groups of very different size, in order; the value is the number of their group.

    A group lives for `lives` seconds. `share` of the packets are alone in their group, a fifth are in groups of about 15,
    the others in groups of about 300 (thesis Table 6-2).
    """
    rng = np.random.default_rng(seed)
    ts = np.arange(0, seconds * SECOND, every)
    value = np.empty(ts.size)
    groups = 0
    for start in range(0, ts.size, lives * SECOND // every):
        here = rng.permutation(np.arange(start, min(start + lives * SECOND // every, ts.size)))
        small, medium = int(share * here.size), int((share + 0.2) * here.size)
        for rows, size in ((here[:small], 1), (here[small:medium], 15), (here[medium:], 300)):
            number = max(rows.size // size, 1)
            value[rows] = groups + (np.arange(rows.size) if size == 1 else rng.integers(0, number, rows.size))
            groups += number
    return Rows(ts, value)


def second_by_second(links: Mapping[str, Rows], behind: Mapping[str, int]) -> Iterable[tuple[int, dict[str, Rows]]]:
    """What each link sends in each second of the arrival clock (microseconds), if it is so many seconds `behind`."""
    last = max(int(rows.ts[-1]) for rows in links.values()) // SECOND
    for second in range(last + 1):
        sent = {}
        for name, rows in links.items():
            start = (second - behind.get(name, 0)) * SECOND
            first, stop = np.searchsorted(rows.ts, [start, start + SECOND])
            if stop > first:
                sent[name] = rows.only(slice(int(first), int(stop)))
        yield second * SECOND, sent


def cut(punctuated: pl.DataFrame) -> Iterable[tuple[int, dict[str, pl.DataFrame]]]:
    """Such rows in batches for the stream `rows`, each ending with a punctuation."""
    ends = punctuated.select((pl.col("punctuation").is_not_null()).arg_true()).to_series().to_list()
    start = 0
    for end in [*ends, punctuated.height - 1]:
        batch = punctuated[start : end + 1]
        start = end + 1
        if batch.height:
            yield batch["clock"][-1], {"rows": batch.drop("clock")}
