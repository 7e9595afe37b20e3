"""Answers as bytes, row by row as they come: JSON lines, server-sent events, Arrow. One class each, chosen by `Accept`."""

from __future__ import annotations

import io
import json
from typing import ClassVar, Protocol

import polars as pl
import pyarrow as pa

from jupyter_stream.core.far import as_json


class Encoding(Protocol):
    """How answers travel. One for each response."""

    media: ClassVar[str]
    """Its media type."""

    def begin(self, empty: pl.DataFrame) -> bytes:
        """What stands before the first row; `empty` has the columns."""

    def rows(self, frame: pl.DataFrame, mark: str, first: int) -> bytes:
        """Rows; the number of the first is `first`, and `mark` is what the ids of all begin with."""

    def gap(self, missed: int) -> bytes | None:
        """That so many rows were forgotten before they were read; None where it can't be said, and the answer breaks off."""

    def alive(self) -> bytes:
        """Something that says nothing, so that a silent line is known to be there."""

    def end(self, state: str, error: str | None) -> bytes | None:
        """That no more comes; None where a failure can't be said, and the answer breaks off."""


class JsonLines:
    """A JSON object for each row, each on a line of its own."""

    media: ClassVar[str] = "application/x-ndjson"

    def begin(self, empty: pl.DataFrame) -> bytes:
        """Nothing."""
        return b""

    def rows(self, frame: pl.DataFrame, mark: str, first: int) -> bytes:
        """The lines. The id of a row is the one of `First-Event-ID` and as many lines further."""
        return "".join(f"{line}\n" for line in as_json(frame)).encode()

    def gap(self, missed: int) -> None:
        """Lines are counted, so the answer breaks off: the reader asks again from its last line on."""

    def alive(self) -> bytes:
        """Nothing: every line is a row."""
        return b""

    def end(self, state: str, error: str | None) -> bytes | None:
        """Nothing; after a failure it breaks off."""
        return b"" if error is None else None


class EventStream:
    """Server-sent events, as `EventSource` of browsers reads them: `id` to resume at, `data` with a row as JSON."""

    media: ClassVar[str] = "text/event-stream"

    def begin(self, empty: pl.DataFrame) -> bytes:
        """Seconds until a browser tries again."""
        return b"retry: 2000\n\n"

    def rows(self, frame: pl.DataFrame, mark: str, first: int) -> bytes:
        """An event for each."""
        lines = as_json(frame)
        return "".join(f"id: {mark}-{first + i}\ndata: {line}\n\n" for i, line in enumerate(lines)).encode()

    def gap(self, missed: int) -> bytes:
        """An event called `gap`."""
        return f"event: gap\ndata: {json.dumps({'forgotten': missed})}\n\n".encode()

    def alive(self) -> bytes:
        """A comment."""
        return b": alive\n\n"

    def end(self, state: str, error: str | None) -> bytes:
        """An event called `end`; without it a browser would ask again for ever."""
        return f"event: end\ndata: {json.dumps({'state': state, 'error': error})}\n\n".encode()


class ArrowStream:
    """The streaming format of Arrow: the schema, batches as they come, and an end mark once the query has ended."""

    media: ClassVar[str] = "application/vnd.apache.arrow.stream"

    def begin(self, empty: pl.DataFrame) -> bytes:
        """The schema."""
        self._file = io.BytesIO()
        self._schema = _table(empty).schema
        self._writer = pa.ipc.new_stream(self._file, self._schema)
        return self._taken()

    def rows(self, frame: pl.DataFrame, mark: str, first: int) -> bytes:
        """A batch."""
        self._writer.write_table(_table(frame).cast(self._schema))
        return self._taken()

    def gap(self, missed: int) -> None:
        """There is no place for it: the answer breaks off without an end mark."""

    def alive(self) -> bytes:
        """Nothing."""
        return b""

    def end(self, state: str, error: str | None) -> bytes | None:
        """The end mark; after a failure it breaks off, so that readers notice."""
        if error is not None:
            return None
        self._writer.close()
        return self._taken()

    def _taken(self) -> bytes:
        made = self._file.getvalue()
        self._file.seek(0)
        self._file.truncate()
        return made


def _table(frame: pl.DataFrame) -> pa.Table:
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())


ENCODINGS: tuple[type[Encoding], ...] = (JsonLines, EventStream, ArrowStream)
"""The first is given to who asks for none in particular."""
_ALSO: dict[str, type[Encoding]] = {
    "application/json": JsonLines,
    "application/jsonl": JsonLines,
    "application/vnd.apache.arrow": ArrowStream,
}


def encoding_for(accept: str) -> Encoding | None:
    """The one an `Accept` header likes best; None where it takes none of them."""
    by_media: dict[str, type[Encoding]] = {e.media: e for e in ENCODINGS} | _ALSO
    liked: list[tuple[float, type[Encoding]]] = []
    for part in accept[:1000].split(",") if accept.strip() else ["*/*"]:
        media, *words = (p.strip().lower() for p in part.split(";"))
        weight = next((w[2:] for w in words if w.startswith("q=")), "1")
        try:
            quality = float(weight)
        except ValueError:
            continue
        kind, _, sub = media.partition("/")
        found = [e for m, e in by_media.items() if sub == "*" and kind in ("*", m.partition("/")[0])]
        chosen = by_media.get(media) or (JsonLines if JsonLines in found else next(iter(found), None))
        if chosen is not None and quality > 0:
            liked.append((quality, chosen))
    return max(liked, key=lambda pair: pair[0])[1]() if liked else None


__all__ = ["ENCODINGS", "ArrowStream", "Encoding", "EventStream", "JsonLines", "encoding_for"]
