"""A checkpoint's folder: the last cut, whole whenever the process ends, and which query it is of. Not for what a cut holds.

A cut is one file, written under a hidden name, brought to disk, and renamed. Behind a line that says its format come pickled
objects, arrays as they are in memory and frames as Arrow's streams, and at the end the signature of all that.
"""

from __future__ import annotations

import hmac
import json
import os
import pickle
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from jupyter_stream.checkpoints.folders import Folder, kept
from jupyter_stream.checkpoints.identity import changes
from jupyter_stream.checkpoints.signing import DIGEST, ForeignState, key, signature
from jupyter_stream.checkpoints.state import TakenState
from jupyter_stream.core import frame_bytes, on_disk
from jupyter_stream.errors import QueryError

FORMAT: Final = 1
"""Grows when what is written changes so that it can't be read as before."""
_MAGIC: Final = b"jupyter-stream cut\n"
_NOTE: Final = "checkpoint.json"
_CUT: Final = "cut-"
_OWN: Final = (_NOTE, "claimed")
_ALIGNED: Final = 64


class _Index(NamedTuple):
    """Where parts are in a file: bytes of the objects, dtype and shape of each array, bytes of each frame, and its
    name where it is a column.
    """

    objects: int
    arrays: list[tuple[Any, tuple[int, ...]]]
    frames: list[tuple[int, str | None]]


class Store:
    """The folder of one query, claimed for this process until `release`.

    Args:
        folder: the claim.
        writer: tells this checkpoint from all others; sinks know its commits by it.
        number: of the last cut; 0 without any.

    Attributes:
        path: where it is.
        last: bytes of the last cut written.
    """

    def __init__(self, folder: Folder, writer: str, number: int) -> None:
        self._folder = folder
        self.path = folder.path
        self.writer = writer
        self.number = number
        self.last = 0

    @property
    def _newest(self) -> Path:
        return self.path / f"{_CUT}{self.number:09}"

    def write(self, taken: TakenState) -> None:
        """Bring a cut to disk; the former one is let go of then. Raises `OSError` where that can't be."""
        at = self.path / f"{_CUT}{self.number + 1:09}"
        part = at.with_name(f".{at.name}")
        signed = signature(key())

        with part.open("wb") as file:

            def put(data: Any) -> None:
                signed.update(data)
                file.write(data)

            _written(taken, put)
            file.write(signed.digest())
            file.flush()
            self.last = file.tell()
            os.fsync(file.fileno())
        part.replace(at)
        on_disk.sync_folder(self.path)
        former, self.number = self._newest, self.number + 1
        former.unlink(missing_ok=True)

    def read(self) -> TakenState | None:
        """The last cut; None where there is none.

        Raises:
            QueryError: it is of another format, or somebody else's.
        """
        if not self.number:
            return None
        data = bytearray(self._newest.read_bytes())
        signed = signature(key())
        signed.update(memoryview(data)[:-DIGEST])
        try:
            if not hmac.compare_digest(signed.digest(), bytes(data[-DIGEST:])):
                raise ForeignState
        except ForeignState as error:
            raise QueryError(str(ForeignState()), hint=_ANEW) from error
        return _read(memoryview(data))

    def leave(self) -> None:
        """It is released soon."""
        self._folder.leave()

    def release(self) -> None:
        """Let another process have it."""
        self._folder.release()


_ANEW: Final = "Add --checkpoint-reset to begin anew."


def writer_of(path: Path, *, reset: bool) -> str:
    """What the sinks of a checkpoint's query know it by: as before, or a new word."""
    with suppress(OSError, ValueError, KeyError):
        if not reset:
            return str(json.loads((path / _NOTE).read_text())["writer"])
    return f"ck{secrets.token_hex(6)}"


def open_store(path: Path, asked: Mapping[str, str], version: str, writer: str, *, reset: bool) -> Store:
    """The checkpoint in a folder, for a query that is the same as before; a new one in an empty folder.

    Args:
        path: the folder.
        asked: the query's `identity`.
        version: of this package.
        writer: what its sinks know it by, where it is new.
        reset: whether what is there is let go of.

    Raises:
        QueryError: it is of another query, of another format, in use, or no checkpoint.
    """
    folder = kept(path)
    if folder is None:
        raise QueryError(
            f"the checkpoint {path} is in use by another query", hint="Stop that one, or name another folder."
        )
    try:
        return _opened(folder, asked, version, writer, reset)
    except BaseException:
        folder.release()
        raise


def _opened(folder: Folder, asked: Mapping[str, str], version: str, writer: str, reset: bool) -> Store:
    path, note = folder.path, folder.path / _NOTE
    if reset and note.exists():
        for cut in path.glob(f"*{_CUT}*"):
            cut.unlink(missing_ok=True)
        note.unlink()
    if not note.exists():
        others = [p.name for p in path.iterdir() if p.name not in _OWN and not (p / _NOTE).exists() and not _is_ours(p)]
        if others:
            raise QueryError(
                f"{path} has files in it and is not a checkpoint of a query in the kernel: {others[0]}",
                hint="Name an empty or a new folder.",
            )
        hidden = path / f".{_NOTE}"
        hidden.write_text(json.dumps({"format": FORMAT, "version": version, "writer": writer, "query": dict(asked)}))
        hidden.replace(note)
        return Store(folder, writer, 0)
    said = json.loads(note.read_text())
    if said["format"] != FORMAT:
        raise QueryError(
            f"the checkpoint {path} has format {said['format']}, written by version {said['version']} of jupyter-stream, and "
            f"version {version} writes format {FORMAT}",
            hint="Go on with that version, or add --checkpoint-reset to begin anew.",
        )
    otherwise = list(changes(said["query"], asked))
    if otherwise:
        raise QueryError(
            f"the checkpoint {path} belongs to another query. "
            + ". ".join(s[:1].upper() + s[1:] for s in otherwise[:3]),
            hint="Write the query as it was, name another folder, or add --checkpoint-reset to begin anew.",
        )
    numbers = [int(p.name.removeprefix(_CUT)) for p in path.glob(f"{_CUT}*")]
    return Store(folder, said["writer"], max(numbers, default=0))


def _is_ours(path: Path) -> bool:
    """Whether a folder in a checkpoint's is that of another query of the same text."""
    return path.is_dir() and path.name.isdecimal()


# -- the file -----------------------------------------------------------------------------------------------------------


def _written(taken: TakenState, put: Callable[[Any], None]) -> None:
    frames = [frame_bytes.written(frame) for frame in taken.frames]
    arrays = [(np.lib.format.dtype_to_descr(a.dtype), a.shape) for a in taken.arrays]
    lengths = [
        (len(text), frame.name if isinstance(frame, pl.Series) else None)
        for text, frame in zip(frames, taken.frames, strict=True)
    ]
    index = pickle.dumps(_Index(len(taken.objects), arrays, lengths))
    head = _MAGIC + len(index).to_bytes(8, "little") + index + taken.objects
    put(head + bytes(-len(head) % _ALIGNED))
    for array in taken.arrays:
        if array.size:
            put(array.reshape(-1).view(np.uint8).data)
            put(bytes(-array.nbytes % _ALIGNED))
    for frame in frames:
        put(frame)


def _read(data: memoryview) -> TakenState:
    at = len(_MAGIC) + 8
    size = int.from_bytes(data[len(_MAGIC) : at], "little")
    index: _Index = pickle.loads(data[at : at + size])
    objects = bytes(data[at + size : at + size + index.objects])
    at += size + index.objects
    at += -at % _ALIGNED
    arrays = []
    for descr, shape in index.arrays:
        dtype = np.lib.format.descr_to_dtype(descr)
        count = int(np.prod(shape, dtype=np.int64))
        found = np.frombuffer(data, dtype, count, at) if count * dtype.itemsize else np.empty(count, dtype)
        arrays.append(found.reshape(shape))
        at += found.nbytes + -found.nbytes % _ALIGNED
    frames: list[pl.DataFrame | pl.Series] = []
    for length, name in index.frames:
        frames.append(frame_bytes.read(data[at : at + length].tobytes(), name))
        at += length
    return TakenState(objects, arrays, frames)


__all__ = ["FORMAT", "Store", "open_store", "writer_of"]
