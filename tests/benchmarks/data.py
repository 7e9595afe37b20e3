"""Makes the rows the benchmarks read: seeded, written once as Parquet into `data/` beside this file, which git ignores.

Event time runs at 16,000 rows a second; in arrival order each row's time is up to 3.2 s behind (band disorder).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

Ints = NDArray[np.int64]

FOLDER = Path(__file__).parent / "data"
RATE = 16_000
BAND = 3_200_000
START = 1_735_689_600_000_000
PART_ROWS = 5_000_000
GROUP_ROWS = 1_000_000
KEYS, ZIPF_KEYS = 1_000, 100_000


def times(first: int, rows: int, rng: np.random.Generator, rate: int = RATE) -> Ints:
    """Event times, microseconds, of the rows that arrive as number `first` and after, `rate` of them a second."""
    arrival = (np.arange(first, first + rows, dtype=np.int64) * 1_000_000) // rate + START
    return arrival - rng.integers(0, BAND, rows)


def zipf(rows: int, rng: np.random.Generator) -> Ints:
    """Keys whose frequency falls as 1 / rank, their names in no order."""
    share = 1 / np.arange(1, ZIPF_KEYS + 1)
    edges = np.cumsum(share / share.sum())
    names = np.random.default_rng(7).permutation(ZIPF_KEYS)
    return names[np.minimum(np.searchsorted(edges, rng.random(rows)), ZIPF_KEYS - 1)]


def _rows(keys: Callable[[int, np.random.Generator], Ints], first: int, rows: int) -> pl.DataFrame:
    rng = np.random.default_rng([11, first])
    return pl.DataFrame(
        {
            "ts": pl.Series(times(first, rows, rng)).cast(pl.Datetime("us")),
            "key": keys(rows, rng),
            "value": rng.integers(0, 1_000_000, rows),
            "price": rng.integers(0, 100_000, rows) / 100,
        }
    )


def _uniform(first: int, rows: int) -> pl.DataFrame:
    return _rows(lambda n, rng: rng.integers(0, KEYS, n), first, rows)


def _zipf(first: int, rows: int) -> pl.DataFrame:
    return _rows(zipf, first, rows)


def _bids(first: int, rows: int) -> pl.DataFrame:
    """NEXMark's bids: of every 50 events 3 are auctions and 46 bids; half of the bids go to the hot auction, the others to
    one of the last 100."""
    rng = np.random.default_rng([13, first])
    newest = np.arange(first, first + rows, dtype=np.int64) * 3 // 46 + 1_000
    recent = newest - rng.integers(0, 100, rows)
    return pl.DataFrame(
        {
            "ts": pl.Series(times(first, rows, rng)).cast(pl.Datetime("us")),
            "auction": np.where(rng.random(rows) < 0.5, newest // 100 * 100, recent),
            "bidder": rng.integers(0, 100_000, rows),
            "price": np.round(10 ** (rng.random(rows) * 6) * 100).astype(np.int64),
        }
    )


def _flow(first: int, rows: int, back: bool) -> pl.DataFrame:
    """Packets one way, or their answers: each has one partner, with its addresses and ports changed over, and both come within
    4.9 s of event time of each other."""
    numbers = np.arange(first, first + rows, dtype=np.uint64)
    one, two = mixed(numbers), mixed(numbers + np.uint64(1 << 40))
    near = [(one & 0xFFFF) | 0x0A000000, (one >> 16) & 0xFFFF]
    far = [two & 0xFFFFFF, (two >> 24) % 1_024]
    (src, sport), (dst, dport) = (far, near) if back else (near, far)
    sent = np.arange(first, first + rows, dtype=np.int64) * 1_000_000 // RATE + START
    delay = (mixed(numbers + np.uint64(2 << 40)) % np.uint64(4_900_000 - BAND)).astype(np.int64)
    frame = pl.DataFrame(
        {
            "ts": sent - np.random.default_rng([17, first]).integers(0, BAND, rows) * (not back) + delay * back,
            "src": src.astype(np.int64),
            "dst": dst.astype(np.int64),
            "sport": sport.astype(np.int64),
            "dport": dport.astype(np.int64),
        }
    )
    # answers arrive as they were sent, that is up to 1.7 s of rows out of order
    return frame.with_columns(pl.col("ts").cast(pl.Datetime("us")))


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers that look random, different for different ones (splitmix64)."""
    z = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _packets(first: int, rows: int) -> pl.DataFrame:
    return _flow(first, rows, back=False)


def _answers(first: int, rows: int) -> pl.DataFrame:
    return _flow(first, rows, back=True)


STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")


def _persons(first: int, rows: int) -> pl.DataFrame:
    """NEXMark's persons, a third as many as auctions."""
    rng = np.random.default_rng([19, first])
    numbers = np.arange(first, first + rows, dtype=np.int64)
    return pl.DataFrame(
        {
            "ts": pl.Series(times(first, rows, rng, RATE // 4)).cast(pl.Datetime("us")),
            "id": numbers + 1_000,
            "name": pl.Series(mixed(numbers.view(np.uint64)) % np.uint64(100_000)).cast(pl.String),
            "state": pl.Series(STATES).gather(rng.integers(0, len(STATES), rows)),
        }
    )


def _auctions(first: int, rows: int) -> pl.DataFrame:
    """NEXMark's auctions: three of four are the hot seller's, the others belong to one of the last 1,000 persons. Each is open
    for up to 10 s."""
    return _opened(first, rows, RATE * 3 // 4)


def _few_auctions(first: int, rows: int) -> pl.DataFrame:
    return _opened(first, rows, RATE // 5)


def _bids_of_auctions(first: int, rows: int) -> pl.DataFrame:
    """Four bids to an auction: on one of those opened 3.2 to 6.4 s before."""
    rng = np.random.default_rng([29, first])
    rate = RATE * 4 // 5
    newest = np.arange(first, first + rows, dtype=np.int64) // 4 - BAND // 1000 * (RATE // 5) // 1000
    return pl.DataFrame(
        {
            "ts": pl.Series(times(first, rows, rng, rate)).cast(pl.Datetime("us")),
            "auction": np.maximum(newest - rng.integers(0, BAND // 1000 * (RATE // 5) // 1000, rows), 0) + 1_000,
            "price": np.round(10 ** (rng.random(rows) * 6) * 100).astype(np.int64),
        }
    )


def _opened(first: int, rows: int, rate: int) -> pl.DataFrame:
    rng = np.random.default_rng([23, first])
    numbers = np.arange(first, first + rows, dtype=np.int64)
    newest = numbers // 3 + 1_000
    recent = np.maximum(newest - rng.integers(0, 1_000, rows), 1_000)
    ts = times(first, rows, rng, rate)
    return pl.DataFrame(
        {
            "ts": pl.Series(ts).cast(pl.Datetime("us")),
            "id": numbers + 1_000,
            "seller": np.where(rng.random(rows) < 0.75, newest // 100 * 100, recent),
            "category": rng.integers(10, 15, rows),
            "reserve": np.round(10 ** (rng.random(rows) * 6) * 100).astype(np.int64),
            "expires": pl.Series(ts + rng.integers(0, 10_000_000, rows)).cast(pl.Datetime("us")),
        }
    )


SETS: dict[str, tuple[Callable[[int, int], pl.DataFrame], int]] = {
    "uniform": (_uniform, 50_000_000),
    "zipf": (_zipf, 20_000_000),
    "bids": (_bids, 20_000_000),
    "packets": (_packets, 10_000_000),
    "answers": (_answers, 10_000_000),
    "persons": (_persons, 5_000_000),
    "auctions": (_auctions, 15_000_000),
    "auctions_of_bids": (_few_auctions, 5_000_000),
    "bids_of_auctions": (_bids_of_auctions, 20_000_000),
}
"""What can be asked for: how its rows are made and how many are written."""


def parts(name: str, rows: int) -> list[Path]:
    """The Parquet files that hold the first `rows` rows (a multiple of `PART_ROWS`, or one short file), made if need be."""
    make, most = SETS[name]
    if rows > most or (rows > PART_ROWS and rows % PART_ROWS):
        raise ValueError(f"{name} has {most:,} rows, in parts of {PART_ROWS:,}")
    return list(_parts(make, FOLDER / name, rows))


def _parts(make: Callable[[int, int], pl.DataFrame], folder: Path, rows: int) -> Iterator[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for first in range(0, rows, PART_ROWS):
        size = min(PART_ROWS, rows - first)
        path = folder / (f"part-{first // PART_ROWS:02d}.parquet" if size == PART_ROWS else f"first-{size}.parquet")
        if not path.exists():
            unfinished = path.with_suffix(".unfinished")
            make(first, PART_ROWS)[:size].write_parquet(unfinished, compression="snappy", row_group_size=GROUP_ROWS)
            unfinished.rename(path)
        yield path


def folder_of(name: str, rows: int) -> Path:
    """A folder with exactly those files (links to them), for a reader that takes a folder."""
    files = parts(name, rows)
    folder = FOLDER / f"{name}-{rows}"
    if not folder.exists():
        folder.mkdir()
        for path in files:
            (folder / path.name).hardlink_to(path)
    return folder


def frame(name: str, rows: int, columns: tuple[str, ...]) -> pl.DataFrame:
    """The rows in memory, in arrival order, in one piece."""
    return pl.read_parquet(parts(name, rows), columns=list(columns)).rechunk()


if __name__ == "__main__":
    shutil.rmtree(FOLDER, ignore_errors=True)
    for each, (_, size) in SETS.items():
        print(folder_of(each, size))
