"""What a query with a checkpoint keeps beside Spark's own: which query it is, and the answers given, by micro-batch.

Started again, it gives the answers it had, and Spark goes on behind them. The last micro-batch may come twice, since Spark's
commit comes after ours; its number tells.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jupyter_stream.checkpoints.folders import Folder, kept, temporary
from jupyter_stream.errors import QueryError

_SUFFIX = ".arrow"
_WRITER = "writer"


class Record:
    """The record in a folder.

    Args:
        folder: the checkpoint's folder.
        keep: rows of answers kept, as many as the handle keeps.
    """

    def __init__(self, folder: Path, keep: int) -> None:
        self._folder = folder / "answers"
        self._folder.mkdir(exist_ok=True)
        self._keep = keep
        self._rows: dict[Path, int] = {}

    @property
    def answered(self) -> int:
        """The last micro-batch recorded, -1 for none."""
        return max((int(p.stem) for p in self._folder.glob(f"*{_SUFFIX}")), default=-1)

    def add(self, number: int, table: Any) -> None:
        """Record what a micro-batch gave, a `pyarrow.Table`; all of it or nothing, whenever the process ends."""
        import pyarrow.ipc

        if not table.num_rows:
            return
        hidden, path = self._folder / f".{number:09}", self._folder / f"{number:09}{_SUFFIX}"
        with pyarrow.ipc.new_file(hidden, table.schema) as writer:
            writer.write_table(table)
        hidden.rename(path)
        self._rows[path] = table.num_rows
        over = sum(self._rows.values()) - self._keep
        for old in sorted(self._rows):
            over -= self._rows[old]
            if over < 0:
                return
            old.unlink(missing_ok=True)
            del self._rows[old]

    def tables(self) -> Iterator[tuple[int, Any]]:
        """What was recorded, in order, each with the number of its micro-batch."""
        import pyarrow.ipc

        for path in sorted(self._folder.glob(f"*{_SUFFIX}")):
            with pyarrow.ipc.open_file(path) as reader:
                table = reader.read_all()
            self._rows[path] = table.num_rows
            yield int(path.stem), table


def folder_for(text: str, checkpoint: Path | None) -> Folder:
    """The folder of a query: its checkpoint, or a temporary one.

    Args:
        text: the query's.
        checkpoint: where it is; None for none.

    Raises:
        QueryError: it is of another query, or in use.
    """
    if checkpoint is None:
        return temporary()
    found = kept(checkpoint)
    if found is None:
        raise QueryError(
            f"the checkpoint {checkpoint} is in use by another query",
            hint="Stop that one, or name another folder.",
        )
    try:
        _check_same(found.path, text)
    except QueryError:
        found.release()
        raise
    return found


def writer_of(checkpoint: Path) -> str:
    """What sinks know the writer of a query with this checkpoint by: the same whenever it is started again.

    Args:
        checkpoint: its folder; made if there is none.
    """
    note = checkpoint / _WRITER
    if not note.exists():
        checkpoint.mkdir(parents=True, exist_ok=True)
        hidden = checkpoint / f".{_WRITER}"
        hidden.write_text(secrets.token_hex(8))
        hidden.rename(note)
    return note.read_text()


def _check_same(folder: Path, text: str) -> None:
    """Raise `QueryError` if the folder is the checkpoint of another query; note the query in a new one."""
    note = folder / "query.json"
    words = " ".join(text.split())
    if note.exists():
        kept = json.loads(note.read_text())["query"]
        if kept != words:
            raise QueryError(
                f"the checkpoint {folder} belongs to another query: {kept}",
                hint="Name another folder, or delete this one to start from the beginning.",
            )
        return
    if any(p.name not in ("claimed", _WRITER) for p in folder.iterdir()):
        raise QueryError(f"{folder} has files in it and is not a checkpoint", hint="Name an empty or a new folder.")
    hidden = folder / ".query.json"
    hidden.write_text(json.dumps({"query": words}))
    hidden.rename(note)
