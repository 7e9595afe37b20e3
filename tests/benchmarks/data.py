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


def times(first: int, rows: int, rng: np.random.Generator) -> Ints:
    """Event times, microseconds, of the rows that arrive as number `first` and after."""
    arrival = (np.arange(first, first + rows, dtype=np.int64) * 1_000_000) // RATE + START
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


SETS: dict[str, tuple[Callable[[int, int], pl.DataFrame], int]] = {
    "uniform": (_uniform, 50_000_000),
    "zipf": (_zipf, 20_000_000),
    "bids": (_bids, 20_000_000),
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
