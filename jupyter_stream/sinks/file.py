"""`file://`: a folder to which each commit adds whole files; or one file that holds the answer as it is.

A file is written under a hidden name and takes its own when it is whole. A commit notes first which files are its own (in a
hidden file beside them), so that one that was interrupted is finished when the same writer begins again.
"""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final
from uuid import uuid4

import polars as pl

from jupyter_stream.core import on_disk
from jupyter_stream.errors import SinkError
from jupyter_stream.sinks.options import choice, columns
from jupyter_stream.sinks.part_files import SUFFIX, PartFiles
from jupyter_stream.sinks.protocol import Sink, SinkConnector, SinkUnreachable, Target

_ENDINGS: Final = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".csv": "csv",
}


class FileSink:
    """Files of a folder, or one file. Raises `SinkError` when it is made where that can't be."""

    def __init__(self, target: Target) -> None:
        self._at = Path(target.path).expanduser().absolute()
        ending = _ENDINGS.get(self._at.suffix.lower())
        self._single = ending is not None and not target.path.endswith("/") and not self._at.is_dir()
        self._format = choice(target.options, "format", SUFFIX, ending or "parquet")
        self._partition = columns(target.options, "partition_by", target.schema.names)
        self._writer = target.writer
        self._staged: list[tuple[str, str]] = []  # hidden name and own name, below the folder
        self._begun = False
        # a hidden name is of one file for ever: where a process was killed, the note of the last commit names files of that one
        self._tag, self._numbers = uuid4().hex[:12], count(1)
        _refuse(target, self._at, self._single, self._partition)
        self._folder = self._at.parent if self._single else self._at
        self._note = self._folder / f".{self._writer}.commit"
        self._files = PartFiles(str(self._folder), self._writer, self._format, self._partition)

    def check(self) -> None:
        """Look whether the folder is none, or can't be one."""
        there = self._folder
        while not there.exists():
            there = there.parent
        if not there.is_dir():
            raise SinkError(f"{there} is a file, not a folder.", hint="Name a folder that is there, or a new one.")

    def append(self, rows: pl.DataFrame) -> None:
        """Write rows to hidden files."""
        if rows.height:
            for name, part in self._files.parts(rows):
                self._stage(part, name)

    def replace(self, rows: pl.DataFrame) -> None:
        """Write all rows to one hidden file."""
        self._stage(rows, self._at.name)

    def upsert(self, rows: pl.DataFrame, gone: pl.DataFrame) -> None:
        """Files can't have rows changed."""
        raise AssertionError("no mode of files")

    def _stage(self, rows: pl.DataFrame, name: str) -> None:
        try:
            self._begin()
            hidden = f".{self._writer}-{self._tag}-{next(self._numbers)}.part"
            self._staged.append((hidden, name))
            self._files.write(rows, hidden)
        except OSError as error:
            raise _away(self._folder, error) from None

    def apart(self) -> PartFiles | None:
        """What writes files of this sink elsewhere; those that a former run left are taken away. None for one file."""
        if self._single:
            return None
        try:
            self._begin()
            self._sweep("-*.piece")
        except OSError as error:
            raise _away(self._folder, error) from None
        return self._files

    def adopt(self, pieces: pl.DataFrame) -> None:
        """Take files that were written elsewhere, as `PIECES`; they get their names with the commit."""
        for hidden, name, _, size in pieces.iter_rows():
            at = self._place(hidden)
            if not at.exists() or at.stat().st_size != size:
                raise SinkError(
                    f"rows were written to {self._folder} on another machine, and aren't there on this one.",
                    hint="Name a folder that all machines of the cluster find at the same path.",
                )
            self._staged.append((hidden, name))

    def _place(self, hidden: str) -> Path:
        """Where a file is: a commit that failed halfway may have given it its name."""
        at = self._folder / hidden
        try:
            note = None if at.exists() else self._noted()
        except OSError as error:
            raise _away(self._folder, error) from None
        return at if note is None else self._folder / dict(note["files"]).get(hidden, hidden)

    def commit(self, number: int, position: str) -> None:
        """Give the files their names: together where the process lives, else when this writer begins again."""
        try:
            self._begin()
            files = [(hidden, self._named(name, number, i)) for i, (hidden, name) in enumerate(self._staged, 1)]
            if files or position:
                note = json.dumps({"number": number, "position": position, "files": files})
                on_disk.sync_folder(self._folder)  # the note names no file that could be lost
                on_disk.write_text(self._note, note)
                self._name(files)
            if not position:
                self._note.unlink(missing_ok=True)
        except OSError as error:
            raise _away(self._folder, error) from None
        self._staged = []

    def _named(self, name: str, number: int, i: int) -> str:
        return name if self._single else f"{name}{self._writer}-{number:06d}-{i:03d}{SUFFIX[self._format]}"

    def _name(self, files: list[tuple[str, str]]) -> None:
        touched: set[Path] = set()
        for hidden, name in files:
            touched.update(self._folder / folder for folder in Path(name).parents)
            at = self._folder / name
            at.parent.mkdir(parents=True, exist_ok=True)
            if (self._folder / hidden).exists():  # else it has its name since the commit was tried before
                (self._folder / hidden).replace(at)
        for folder in touched:
            on_disk.sync_folder(folder)

    def _begin(self) -> None:
        """See that the folder is there, and finish the commit that a former run of this writer may have left."""
        if self._begun:
            return
        on_disk.make_folder(self._folder)
        note = self._noted()
        if note is not None:
            self._name([(hidden, name) for hidden, name in note["files"]])
        self._sweep()
        self._begun = True

    def _noted(self) -> dict[str, list[tuple[str, str]]] | None:
        """The note of the last commit; None without one that is whole.

        Files get their names when the note is on disk: those of a torn one have none, and its rows come again under its number.
        """
        try:
            found: dict[str, list[tuple[str, str]]] = json.loads(self._note.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return found

    def committed(self) -> tuple[int, str] | None:
        """Of the note of the last commit, which is kept where there is a position to keep."""
        try:
            note = self._noted()
        except OSError as error:
            raise _away(self._folder, error) from None
        return None if note is None else (int(str(note["number"])), str(note["position"]))

    def abort(self) -> None:
        """Take hidden files away, but for those of a commit that is noted; where that can't be, they stay until the next time."""
        self._staged = []
        self._sweep()

    def _sweep(self, found: str = "*.part") -> None:
        with suppress(OSError):
            note = self._noted()
            keep = {hidden for hidden, _ in note["files"]} if note is not None and note["position"] else set()
            for part in self._folder.glob(f".{self._writer}{found}"):
                if part.name not in keep:
                    part.unlink(missing_ok=True)

    def close(self) -> None:
        """Leave nothing behind that isn't whole."""
        self.abort()
        self._sweep("-*.piece")


def _refuse(target: Target, at: Path, single: bool, partition: tuple[str, ...]) -> None:
    if not target.path.strip("/"):
        raise SinkError(
            "file:// names no folder.", hint="Write TO 'file://answers/', or three slashes: 'file:///data/answers/'."
        )
    if single and target.mode != "replace":
        raise SinkError(
            f"{at.name} is one file, and rows can't be added to it.",
            hint=f"Name a folder: 'file://{at.stem}/'."
            + (" Or write mode = 'replace': the file then holds the current answer." if target.relation else ""),
        )
    if target.mode == "replace" and not target.relation:
        raise SinkError(
            "files can't be replaced by an answer that only grows.",
            hint="Leave mode out and name a new folder. q.to_parquet(path) writes what is there now to one file.",
        ).about("mode")
    if target.mode == "replace" and not single:
        raise SinkError(
            "mode = 'replace' writes one file, and this names a folder.",
            hint=f"Write TO 'file://{target.path.rstrip('/')}/state.parquet'.",
        ).about("mode")
    if partition and single:
        raise SinkError("one file has no partitions.", hint="Name a folder, or leave partition_by out.").about(
            "partition_by"
        )
    if partition and len(partition) == len(target.schema):
        raise SinkError(
            "partition_by names all columns, and none would be left for the files.", hint="Leave one of them out."
        ).about("partition_by")
    odd = next(
        (c for c in partition if target.schema.polars()[c].is_nested() or target.schema.polars()[c].is_float()), None
    )
    if odd is not None:
        raise SinkError(
            f"{odd} can't be in partition_by: folders are made of texts, whole numbers, dates and times.",
            hint="Name another column.",
        ).about("partition_by")


def _away(folder: Path, error: OSError) -> SinkUnreachable:
    return SinkUnreachable(f"{folder} can't be written to: {error.strerror or error}")


def _open(target: Target) -> Sink:
    return FileSink(target)


FILE: Final = SinkConnector(
    scheme="file",
    example="file://answers/",
    options={
        "format": "'parquet' (default), 'json' (a JSON object on each line) or 'csv'; one file's ending says it",
        "partition_by": "columns whose values become folders: 'day' gives day=2026-11-23/",
    },
    modes=("changes", "append", "replace"),
    promise="exactly once",
    how="files of a commit are written under hidden names and take their own when all are whole",
    open=_open,
)
"""The connector of `file://`."""
