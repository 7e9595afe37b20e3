"""Frames as bytes, alone and inside of other objects: Arrow's streams.

Not pickled: pickling a frame holds the interpreter's lock while Polars' threads may wait for it, which ends in a deadlock.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import polars as pl


def written(frame: pl.DataFrame | pl.Series) -> bytes:
    """A frame, or a column without its name, as Arrow's stream."""
    into = io.BytesIO()
    (frame if isinstance(frame, pl.DataFrame) else frame.to_frame("")).write_ipc_stream(into)
    return into.getvalue()


def read(data: bytes, column: str | None = None) -> pl.DataFrame | pl.Series:
    """What `written` made bytes of.

    Args:
        data: the bytes.
        column: its name where it was a column, None where it was a frame.
    """
    frame = pl.read_ipc_stream(data)
    return frame if column is None else frame.to_series().alias(column)


def dumps(found: Any) -> bytes:
    """An object with frames anywhere inside, as bytes."""
    into = io.BytesIO()
    _FrameWriter(into, protocol=5).dump(found)
    return into.getvalue()


def loads(data: bytes) -> Any:
    """What `dumps` made bytes of in this process: unpickling runs code."""
    return _FrameReader(io.BytesIO(data)).load()


class _FrameWriter(pickle.Pickler):
    def persistent_id(self, obj: Any) -> object:
        """A frame or a column, with its name."""
        if type(obj) is pl.DataFrame:
            return written(obj), None
        if type(obj) is pl.Series:
            return written(obj), obj.name
        return None


class _FrameReader(pickle.Unpickler):
    def persistent_load(self, pid: Any) -> Any:
        """It, again."""
        return read(*pid)
