"""Files as people have them, by their paths on the page "Bring your data": how they come to be, and what is in them."""

from __future__ import annotations

import datetime as dt
import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import polars as pl

TEN = dt.datetime(2024, 5, 1, 10)
TIMES = [TEN + dt.timedelta(minutes=m) for m in range(3)]
PLAIN = [(t, v) for t, v in zip(TIMES, (1.5, 2.5, 4.0), strict=True)]
FRAME = pd.DataFrame({"at": TIMES, "v": [1.5, 2.5, 4.0]})


@dataclass(frozen=True)
class Brought:
    """A file or folder.

    Attributes:
        make: writes it to a path.
        names: its columns.
        rows: its rows, in order.
        says: words of the answer to CREATE STREAM.
        refused: how many records `errors(name)` has.
    """

    make: Callable[[Path], None]
    names: tuple[str, ...] = ("at", "v")
    rows: tuple[tuple[object, ...], ...] = tuple(PLAIN)
    says: tuple[str, ...] = ()
    refused: int = 0


def text(*lines: str, encoding: str = "utf-8", newline: str = "\n") -> Callable[[Path], None]:
    return lambda path: write(path, "".join(line + newline for line in lines).encode(encoding))


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def lines(delimiter: str = ",", comma: bool = False) -> list[str]:
    found = [f"at{delimiter}v", *(f"{t}{delimiter}{v}" for t, v in PLAIN)]
    return [line.replace(".", ",") for line in found] if comma else found


def folder(**files: list[str]) -> Callable[[Path], None]:
    """Files of a folder, `day=x/a.csv` written as `day__x___a`."""

    def make(path: Path) -> None:
        for name, content in files.items():
            text(*content)(path / (name.replace("___", "/").replace("__", "=").replace("_", "-") + ".csv"))

    return make


def cut(path: Path) -> None:
    """All but the end of a file packed by gzip: its last record is not whole, and its checksum is missing."""
    whole = gzip.compress("\n".join([*lines(), ""]).encode(), mtime=0)
    write(path, whole[:-10])


def columns_differ(path: Path) -> None:
    path.mkdir(parents=True)
    FRAME[:1].assign(w=7).to_parquet(path / "a.parquet")
    FRAME[1:].to_parquet(path / "b.parquet")


SIMS = ("89441100682562700541", "89441100682562700542", "89441100682562700543")
INDEXED = tuple((i, *row) for i, row in enumerate(PLAIN))
OBJECTS = [f'{{"at": "{t}", "v": {v}}}' for t, v in PLAIN]

BROUGHT: dict[str, Brought] = {
    "readings.csv": Brought(text(*lines())),
    "frame.csv": Brought(
        lambda p: FRAME.to_csv(p), ("column0", "at", "v"), INDEXED, ("column0 has no name in the header",)
    ),
    "trailing.csv": Brought(
        text(*(f"{line}," for line in lines())),
        ("at", "v", "column2"),
        tuple((*row, None) for row in PLAIN),
        ("column2 has no name",),
    ),
    "twice.csv": Brought(
        text("at,v,v", *(f"{t},{v},{v + 1}" for t, v in PLAIN)),
        ("at", "v", "v_1"),
        tuple((t, v, v + 1) for t, v in PLAIN),
        ("further columns are called v_1",),
    ),
    "readings.tsv": Brought(text(*lines("\t"))),
    "readings.csv.gz": Brought(lambda p: write(p, gzip.compress("\n".join(lines()).encode()))),
    "excel.csv": Brought(text(*lines(";", comma=True), newline="\r\n"), says=("separated by ';'",)),
    "old-excel.csv": Brought(
        text("at;größe", *(f"{t};{v}" for t, v in PLAIN), encoding="cp1252"),
        ("at", "größe"),
        says=("separated by ';'",),
    ),
    "unicode.txt": Brought(text(*lines("\t"), encoding="utf-16", newline="\r\n")),
    "sep.csv": Brought(text("sep=|", *lines("|")), says=("separated by '|'",)),
    "thousands.csv": Brought(text("at;v", f"{TEN};1.234,5"), rows=((TEN, 1234.5),), says=("separated by ';'",)),
    "headless.csv": Brought(text(*lines()[1:])),
    "missing.csv": Brought(text(*lines()[:3], f"{TIMES[2]},NA"), rows=(*PLAIN[:2], (TIMES[2], None))),
    "sims.csv": Brought(
        text("at,sim", *(f"{t},{s}" for t, s in zip(TIMES, SIMS, strict=True))),
        ("at", "sim"),
        tuple(zip(TIMES, SIMS, strict=True)),
        ("sim has whole numbers beyond BIGINT, so it is STRING",),
    ),
    "codes.csv": Brought(text("at,code", f"{TEN},007", f"{TEN},7"), ("at", "code"), ((TEN, "007"), (TEN, "7"))),
    "cut.csv.gz": Brought(cut, rows=tuple(PLAIN[:2]), refused=2),
    "days/": Brought(
        folder(day__2024_05_01___a=lines()[:3], day__2024_05_02___a=[lines()[0], "2024-05-02 10:00,8"]),
        ("at", "v", "day"),
        (*((t, v, dt.date(2024, 5, 1)) for t, v in PLAIN[:2]), (dt.datetime(2024, 5, 2, 10), 8.0, dt.date(2024, 5, 2))),
    ),
    "exports/": Brought(
        folder(a=[], b=["at,v,w", f"{TEN},1.5,7"], c=lines()[0:1] + lines()[2:]),
        ("at", "v", "w"),
        ((TEN, 1.5, 7), (TIMES[1], 2.5, None), (TIMES[2], 4.0, None)),
        ("c.csv has no w: NULL there",),
    ),
    "parts/": Brought(
        columns_differ,
        ("at", "v", "w"),
        ((TEN, 1.5, 7), (TIMES[1], 2.5, None), (TIMES[2], 4.0, None)),
        ("b.parquet has no w: NULL there",),
    ),
    "readings.parquet": Brought(lambda p: FRAME.to_parquet(p)),
    "hashes.parquet": Brought(
        lambda p: pl.DataFrame({"at": TIMES, "h": pl.Series([1, 2**64 - 1, 2], dtype=pl.UInt64)}).write_parquet(p),
        ("at", "h"),
        tuple(zip(TIMES, (1, 2**64 - 1, 2), strict=True)),
        ("h has values beyond BIGINT, so it is DECIMAL(20,0)",),
    ),
    "events.jsonl": Brought(text(*OBJECTS)),
    "events.ndjson.gz": Brought(lambda p: write(p, gzip.compress("\n".join(OBJECTS).encode()))),
}
