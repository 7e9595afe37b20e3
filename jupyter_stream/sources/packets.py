"""Synthetic network packets, as in the network-monitoring examples of the papers; with disorder of the kinds found there.

Rows are made in blocks of fixed size, each from its own random stream, so that they are the same however they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import polars as pl

from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.options import choice, duration, number, whole
from jupyter_stream.sources.protocol import BATCH_ROWS

SCHEMA: Final = Schema.of(
    [
        ("srcIP", pl.String()),
        ("srcPort", pl.Int32()),
        ("destIP", pl.String()),
        ("destPort", pl.Int32()),
        ("protocol", pl.String()),
        ("len", pl.Int32()),
        ("flag", pl.String()),
        ("ts", TIMESTAMP),
    ]
)
OPTIONS: Final = {
    "rows": "how many rows: 1,000,000 by default, or 'unlimited'",
    "seed": "another seed, other rows",
    "per_second": "rows in a second of event time, 16,000 by default",
    "ips": "how many addresses there are, 1,000 by default",
    "zipf": "how unequal the addresses are: 0 for all alike, 1 by default; the more, the fewer addresses send most packets",
    "disorder": "'none', 'band' (each row up to `bound` late) or 'block' (rows shuffled inside blocks of the length `bound`)",
    "bound": "how late a row can be, '1 second' by default",
    "lull": "how long a pause without rows is; by default there is none",
    "lull_every": "event time from the end of a lull to the next, '10 seconds' by default",
    "start": "the first row's time, 2024-01-01 by default",
}

_PORTS: Final = np.array([443, 80, 53, 22, 25, 123, 3306, 8080], dtype=np.int32)
_PORT_SHARES: Final = (0.45, 0.2, 0.15, 0.05, 0.04, 0.03, 0.03, 0.05)
_PROTOCOLS: Final = ("TCP", "UDP", "ICMP")
_FLAGS: Final = ("ACK", "PSH", "SYN", "FIN", "RST")
_START: Final = 1_704_067_200_000_000


class Packets:
    """The generator and its settings.

    Args:
        options: see `OPTIONS`.
        start: the first row's time, microseconds.
    """

    schema = SCHEMA

    def __init__(self, options: Mapping[str, str], start: int | None = None) -> None:
        self.rows = rows_option(options)
        self._seed = whole(options, "seed", 1)
        self._per_second = whole(options, "per_second", 16_000, least=1)
        self._zipf = number(options, "zipf", 1.0)
        self._disorder = choice(options, "disorder", ("none", "band", "block"), "none")
        self._bound = duration(options, "bound", 1_000_000)
        self._lull = duration(options, "lull", 0)
        self._lull_every = duration(options, "lull_every", 10_000_000)
        if self._disorder != "none" and self._bound < 1:
            raise SourceError("Option bound = '0' leaves no disorder.", hint="Write bound = '1 second'.").about("bound")
        if self._lull and self._lull_every < 1:
            raise SourceError(
                "Option lull_every = '0' leaves no time for rows.", hint="Write lull_every = '10 seconds'."
            ).about("lull_every")
        self._start = _START if start is None else start
        ips = whole(options, "ips", 1_000, least=1)
        shares = np.arange(1, ips + 1, dtype=np.float64) ** -self._zipf
        self._cumulative = np.cumsum(shares) / shares.sum()
        # Which address is the busiest is up to the seed; 10.0.0.0/8 has room for sixteen million.
        numbers = np.random.default_rng([self._seed, 0]).permutation(ips)
        self._ips = pl.Series([f"10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}" for n in numbers.tolist()])

    def read(self, columns: frozenset[str]) -> Iterator[pl.DataFrame]:
        """The rows in arrival order, these columns of them."""
        if self._disorder == "none":
            for first, count in blocks(self.rows):
                yield self._block(first, count, self._times(first, count), columns)
        else:
            yield from self._disordered(columns)

    def _times(self, first: int, count: int) -> Int64s:
        times = np.arange(first, first + count, dtype=np.int64) * 1_000_000 // self._per_second
        if self._lull:
            times += times // self._lull_every * self._lull
        return times + self._start

    def _disordered(self, columns: frozenset[str]) -> Iterator[pl.DataFrame]:
        """Rows by when they arrive. Rows are held until no later block can have one that arrives before."""
        held = pl.DataFrame()
        for first, count in blocks(self.rows):
            times = self._times(first, count)
            frame = self._block(first, count, times, columns)
            arrives = pl.Series("$arrives", self._arrivals(first, times))
            order = pl.Series("$order", np.random.default_rng([self._seed, 2, first]).random(count))
            held = (
                pl.concat([held, frame.with_columns(arrives, order)])
                if held.width
                else frame.with_columns(arrives, order)
            )
            held = held.sort("$arrives", "$order", maintain_order=True)
            ready = int(held.get_column("$arrives").search_sorted(int(self._earliest(first + count)), side="left"))
            yield held.head(ready).drop("$arrives", "$order")
            held = held.slice(ready)
        if held.height:
            yield held.drop("$arrives", "$order")

    def _arrivals(self, first: int, times: Int64s) -> Int64s:
        if self._disorder == "block":
            return (times - self._start) // self._bound
        late = np.random.default_rng([self._seed, 3, first]).integers(0, self._bound, len(times), endpoint=True)
        return times + late

    def _earliest(self, row: int) -> int:
        """When the row, or any after it, can arrive first."""
        at = int(self._times(row, 1)[0])
        return (at - self._start) // self._bound if self._disorder == "block" else at

    def _block(self, first: int, count: int, times: Int64s, columns: frozenset[str]) -> pl.DataFrame:
        # Each column has a random stream of its own, so that which columns are read changes nothing.
        def rng(column: int) -> np.random.Generator:
            return np.random.default_rng([self._seed, 1, column, first])

        def words(column: int, choices: tuple[str, ...], shares: tuple[float, ...]) -> pl.Series:
            return pl.Series(choices).gather(rng(column).choice(len(choices), count, p=shares))

        def ips(column: int) -> pl.Series:
            ranks = np.searchsorted(self._cumulative, rng(column).random(count), side="right")
            return self._ips.gather(np.minimum(ranks, len(self._ips) - 1))

        def lengths() -> Any:
            small = rng(5).random(count) < 0.4
            return np.where(small, 40, rng(6).integers(40, 1_500, count, endpoint=True)).astype(np.int32)

        made: dict[str, Callable[[], Any]] = {
            "srcIP": lambda: ips(0),
            "srcPort": lambda: rng(1).integers(1_024, 65_535, count, endpoint=True).astype(np.int32),
            "destIP": lambda: ips(2),
            "destPort": lambda: rng(3).choice(_PORTS, count, p=_PORT_SHARES),
            "protocol": lambda: words(4, _PROTOCOLS, (0.8, 0.17, 0.03)),
            "len": lengths,
            "flag": lambda: words(7, _FLAGS, (0.62, 0.2, 0.08, 0.08, 0.02)),
            "ts": lambda: pl.Series(times).cast(TIMESTAMP),
        }
        return pl.DataFrame({name: make() for name, make in made.items() if name in columns})


def rows_option(options: Mapping[str, str]) -> int | None:
    """How many rows; None for no end."""
    if options.get("rows", "").strip().lower() in ("unlimited", "endless", "infinite"):
        return None
    return whole(options, "rows", 1_000_000)


def blocks(rows: int | None) -> Iterator[tuple[int, int]]:
    """First row and number of rows of each block."""
    first = 0
    while rows is None or first < rows:
        count = BATCH_ROWS if rows is None else min(BATCH_ROWS, rows - first)
        yield first, count
        first += count
