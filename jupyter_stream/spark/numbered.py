"""Files of a folder as Spark is to read them: numbered, hidden until they are whole, dated in their order."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Final

import polars as pl

_LAST: Final = ".last"
"""What was noted with the last file: it counts once this is there, shown or not, since Spark deletes what it has read."""


class NumberedFiles:
    """The Parquet files of one stream, for one Spark query.

    Args:
        folder: made here if need be.
        by_others: whether some are files of others, linked, whose times are as they are.
        paced: whether Spark takes a few at a time, which must be the first of those there are.

    Attributes:
        count: how many there were, those that Spark has deleted among them.
        noted: what was noted with the last file, here or in an earlier run; empty if there was none.
    """

    def __init__(self, folder: Path, *, by_others: bool, paced: bool) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._by_others = by_others
        self._paced = paced
        self._held = False
        self._unseen: list[int] = []  # numbers of those that are held back
        last = folder / _LAST
        self.noted: dict[str, int] = json.loads(last.read_text()) if last.exists() else {}
        self.count = self.noted.get("files", 0)
        self._newest = self.noted.get("newest", 0)
        for number in sorted(int(p.name[1:]) for p in folder.glob(".[0-9]*")):
            if number <= self.count:
                self._rename(number)

    def add(self, rows: pl.DataFrame | Path, /, **note: int) -> None:
        """One more.

        Args:
            rows: what it holds, or a file to be handed over as it is.
            note: what goes from here on.
        """
        self.count += 1
        hidden = self._folder / f".{self.count:09}"  # Spark passes over hidden files
        if isinstance(rows, pl.DataFrame):
            rows.write_parquet(hidden, compression="snappy", statistics=False)
            self._date(hidden, linked=False)
        else:
            hidden.unlink(missing_ok=True)
            if self._paced and _changed(rows) <= self._newest:
                shutil.copyfile(rows, hidden)
                self._date(hidden, linked=False)
            else:
                self._date(hidden, linked=_link(rows, hidden))
        self.noted = {"files": self.count, **note, "newest": self._newest}
        new = self._folder / ".note"
        new.write_text(json.dumps(self.noted))
        new.rename(self._folder / _LAST)
        if self._held:
            self._unseen.append(self.count)
        else:
            self._rename(self.count)

    def hold(self) -> None:
        """Let Spark see none of those that come until `show`."""
        self._held = True

    def show(self) -> None:
        """Let Spark see those that come, and those that were held back."""
        self._held = False
        for number in self._unseen:
            self._rename(number)
        self._unseen = []

    def _rename(self, number: int) -> None:
        """Let Spark see a file."""
        (self._folder / f".{number:09}").rename(self._folder / f"{number:09}.parquet")

    def _date(self, file: Path, *, linked: bool) -> None:
        """Give a file a time after that of all before it: Spark takes them in the order of their times, to the millisecond.

        The times of rows between files of others are those of the files before, so that links can follow.
        """
        if linked:  # the file's own
            self._newest = max(self._newest, _changed(file))
            return
        now = 0 if self._by_others and self._newest else _changed(file)
        self._newest = max(now, self._newest + 1)
        os.utime(file, ns=(self._newest * 1_000_000, self._newest * 1_000_000))


def _link(file: Path, to: Path) -> bool:
    """The file under another name, a copy where that is on another disk; whether it is the same file."""
    try:
        os.link(file.resolve(), to)
        return True
    except OSError:
        shutil.copyfile(file, to)
        return False


def _changed(file: Path) -> int:
    """When a file was changed last, as Spark counts: milliseconds."""
    return file.stat().st_mtime_ns // 1_000_000
