"""JSON lines: an object on each line. Lines that are none are told apart, with their text and number.

A block is parsed at once with all values as text, which `conform` casts; only where that fails are lines looked at one by one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, Final

import polars as pl

from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.conform import both, conform, rejected
from jupyter_stream.sources.json_array import ArrayItems
from jupyter_stream.sources.late_fields import LateFields, of_read
from jupyter_stream.sources.nested import text_of
from jupyter_stream.sources.protocol import Chunk, Remarks
from jupyter_stream.sources.text import TextParser, is_utf8, type_of_text
from jupyter_stream.sources.utf8 import NOT_UTF8
from jupyter_stream.sources.values import infer

_LONE: Final = re.compile(rb"\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]")
_NO_NUMBER: Final = re.compile(rb"[:,\[]\s*-?(?:NaN|Infinity)\b")
_NO_NUMBERS: Final = "not JSON: NaN and Infinity are no numbers there, write null"
_TABLES: Final = ({"columns", "index", "data"}, {"schema", "data"})
"""The keys of `df.to_json(orient='split')` and `'table'`."""
"""Half of a character that takes two: there is no such text. It may only look so behind a backslash that stands for itself."""
_LOOKED_AT: Final = 1_000
"""Lines looked at to find how keys are spelt."""


class JsonFormat:
    """JSON lines; a file that is one array of objects is taken as well.

    Args:
        tick: what numbers mean as times (`casting.TICKS`).
        place: says where a line is, by its number from 1, if the text is no file's; there each line is then a record.
    """

    def __init__(self, tick: int | None, place: Callable[[int], str] | None = None) -> None:
        self.tick = tick
        self.place = place
        self.found: Schema | None = None
        """All columns of the stream, where nobody declared them."""

    def knowing(self, found: Schema) -> JsonFormat:
        """The same, where these columns were found and not declared."""
        other = copy(self)
        other.found = found
        return other

    def parser(self, path: Path, schema: Schema, fields: Sequence[Field], remarks: Remarks | None = None) -> TextParser:
        """A parser for one file, giving these fields of the stream's schema; a key that is missing is NULL."""
        looked = None if self.found is None or remarks is None else of_read(remarks, self.found, _of_words)
        return _JsonParser(self, path, fields, looked)

    def discover(self, head: bytes, path: Path, nothing: pl.DataType | None = None) -> Schema:
        """Columns and types as the first objects have them; text that is all times becomes TIMESTAMP or DATE.

        Args:
            head: whole lines.
            path: where they stand.
            nothing: the type of what has no values; STRING if left out.
        """
        rows = [{k: v for k, v in row.items() if k} for row in _objects(head) if _is_text(row)]
        found = infer(rows, _of_words, nothing or pl.String())
        if found is None:
            hint = "Declare the columns, or write WITH (format = 'csv')."
            if _opens(head):
                hint = "Its first object goes over several lines: write one object a line, or all of them as one array."
            raise SourceError(f"{path} does not begin with JSON objects.", hint=hint)
        return found

    def looked_at(self, head: bytes, path: Path) -> tuple[Schema, list[str]]:
        """The same, with what is to be said of it; Null is the type of what has no values."""
        found = self.discover(head, path, pl.Null())
        return found, _about_shape(found)

    def check(self, head: bytes, path: Path, schema: Schema) -> None:
        """Refuse a file in whose first objects none of the declared columns occurs."""
        keys = {k.lower() for row in _objects(head) for k in row}
        if keys and not keys & {n.lower() for n in schema.names}:
            raise SourceError(
                f"The objects in {path} have none of the declared columns.",
                hint=f"They have {', '.join(sorted(keys))}.",
            )


class _JsonParser:
    def __init__(self, form: JsonFormat, path: Path, fields: Sequence[Field], late: LateFields | None) -> None:
        self._path = path
        self._late = late
        self._fields = fields
        self._tick = form.tick
        self._place = form.place or self._place_in_file
        self._line = 1
        self._keys: dict[str, str] = {}
        self._to_look_at = _LOOKED_AT
        self._array: bool | None = None if form.place is None else False
        self._items = ArrayItems()

    def cut(self, data: bytes) -> int:
        if self._is_array(data):
            return self._items.cut(data)
        return data.rfind(b"\n") + 1

    def skip(self) -> str:
        self._line += 1
        return self._place(self._line - 1)

    def parse(self, data: bytes) -> Chunk:
        if self._is_array(data):
            data = self._items.lines(data)
        first_line = self._line
        self._line += data.count(b"\n")
        self._spell(data)
        if self._late is not None:
            self._late.look_into(data, self._line - first_line)
        whole = None if _LONE.search(data) else self._decode(data)
        if whole is None:
            return self._by_line(data, first_line)
        if any(whole.get_column(f.name).null_count() and self._is_respelt(f.name, data) for f in self._fields):
            return self._by_line(data, first_line)
        return self._conform(whole, data, first_line, None)

    def _is_respelt(self, name: str, data: bytes) -> bool:
        """Whether a key stands in the text in another case, too, than this file mostly spells it in."""
        key = json.dumps(self._keys.get(name, name)).encode()
        if not key.isascii():  # a name in other letters: their capitals have other bytes
            return True
        return data.lower().count(key.lower()) != data.count(key)

    def _is_array(self, data: bytes) -> bool:
        if self._array is None and data.strip():
            self._array = data.lstrip()[:1] == b"["
        return bool(self._array)

    def _decode(self, data: bytes, *, by_column: bool = False) -> pl.DataFrame | None:
        """Lines as text columns; None when one of them is no object, or has a value of another shape than declared.

        Args:
            data: the lines.
            by_column: whether objects and arrays are to be taken as texts, so that none is of another shape.
        """
        types = {f.name: pl.String() if by_column else text_of(f.dtype) for f in self._fields}
        schema = {self._keys.get(name, name): dtype for name, dtype in types.items()}
        if not data.strip():
            return pl.DataFrame(schema=types)
        if not is_utf8(data):
            return None
        try:
            frame = pl.read_ndjson(data, schema=schema)
        except pl.exceptions.PolarsError:
            return None
        return pl.DataFrame([frame.get_column(self._keys.get(name, name)).alias(name) for name in types])

    def _by_line(self, data: bytes, first_line: int) -> Chunk:
        good: list[tuple[int, bytes]] = []
        bad: list[tuple[int, bytes, str]] = []
        for number, line in _numbered(data, first_line):
            reason, value = _fault(line)
            if reason is None:
                good.append((number, self._spelt(line, value)))
            else:
                bad.append((number, line, reason))
        chunks = self._halves(good, bad)
        bad.sort()
        told = rejected(
            [line.decode(errors="replace").rstrip("\r") for _, line, _ in bad],
            [reason + self._place(number) for number, _, reason in bad],
        )
        frames = [chunk.frame for chunk in chunks] or [Schema(tuple(self._fields)).empty()]
        for chunk in chunks:
            told = both(told, chunk.rejected)
        return Chunk(pl.concat(frames, how="diagonal"), told)

    def _spelt(self, line: bytes, value: Mapping[str, Any]) -> bytes:
        """The line with the keys of columns as this file mostly spells them, where it has none of that spelling."""
        lower = {key.lower(): key for key in reversed(list(value))}
        known = ((self._keys.get(f.name, f.name), lower.get(f.name.lower())) for f in self._fields)
        other = {found: key for key, found in known if key not in value and found is not None}
        if not other:
            return line
        return json.dumps({other.get(key, key): item for key, item in value.items()}).encode()

    def _halves(self, lines: list[tuple[int, bytes]], bad: list[tuple[int, bytes, str]]) -> list[Chunk]:
        """Chunks of lines that Python takes for objects; those the block parser still refuses go to `bad`."""
        if not lines:
            return []
        data = b"\n".join(line for _, line in lines)
        frame = self._decode(data)
        if frame is not None and frame.height == len(lines):
            return [self._conform(frame, data, 0, lines)]
        if len(lines) == 1:
            frame = self._decode(data, by_column=True)
            if frame is not None and frame.height == 1:
                return [self._conform(frame, data, 0, lines)]
            bad.append((*lines[0], _NO_NUMBERS if _NO_NUMBER.search(data) else "not a JSON object"))
            return []
        half = len(lines) // 2
        return self._halves(lines[:half], bad) + self._halves(lines[half:], bad)

    def _conform(
        self, frame: pl.DataFrame, data: bytes, first_line: int, lines: Sequence[tuple[int, bytes]] | None
    ) -> Chunk:
        found: list[Sequence[tuple[int, bytes]]] = [] if lines is None else [lines]

        def line(row: int) -> tuple[int, bytes]:
            if not found:
                found.append(_numbered(data, first_line))
            return found[0][row]

        return conform(
            frame,
            self._fields,
            self._tick,
            lambda rows: [line(row)[1].decode().rstrip("\r") for row in rows],
            lambda row: self._place(line(row)[0]),
        )

    def _spell(self, data: bytes) -> None:
        """Learn how this file spells the columns, from the first lines that have them."""
        missing = [f.name for f in self._fields if f.name not in self._keys]
        if not missing or self._to_look_at <= 0:
            return
        rows = _objects(data, self._to_look_at)
        self._to_look_at -= len(rows)
        # the first object that has a column decides, so that it makes no difference in which blocks a file is read
        seen: set[str] = set()
        for row in rows:
            if seen.issuperset(row):
                continue
            seen.update(row)
            lower = {key.lower(): key for key in reversed(row)}
            for name in [n for n in missing if n.lower() in lower]:
                self._keys[name] = name if name in row else lower[name.lower()]
                missing.remove(name)

    def _place_in_file(self, number: int) -> str:
        return f" ({self._path.name}, {'item' if self._array else 'line'} {number})"


def _about_shape(schema: Schema) -> list[str]:
    """A sentence about objects that hold a whole table, as pandas writes them unless it is told otherwise."""
    kinds = [frozenset(f.name for f in field.dtype.fields) for field in schema if isinstance(field.dtype, pl.Struct)]
    by_column = len(kinds) == len(schema) and len(set(kinds)) == 1 and "0" in kinds[0]
    if by_column or set(schema.names) in _TABLES:
        return [
            "It is one object with a whole table: a row each comes of df.to_json(path, orient='records', lines=True)."
        ]
    return []


def _opens(head: bytes) -> bool:
    """Whether it begins with an object that doesn't end in its line."""
    first = head.lstrip().split(b"\n", 1)[0].strip()
    return first.startswith(b"{") and _fault(first)[0] is not None and b"\n" in head.strip()


def _of_words(words: Sequence[str]) -> pl.DataType:
    """TIMESTAMP or DATE where all texts are some; else STRING."""
    guess = type_of_text(pl.Series(words, dtype=pl.String))
    return guess if guess.is_temporal() else pl.String()


def _numbered(data: bytes, first_line: int) -> list[tuple[int, bytes]]:
    return [(first_line + i, line) for i, line in enumerate(data.split(b"\n")) if line.strip()]


def _fault(line: bytes) -> tuple[str | None, Mapping[str, Any]]:
    """What is wrong with a line, and the object if nothing is. Of a key that appears twice the first value counts."""
    try:
        value = json.loads(line, object_pairs_hook=lambda pairs: dict(reversed(pairs)) if pairs else {})
    except UnicodeDecodeError:
        return NOT_UTF8, {}
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}", {}
    if not isinstance(value, dict):
        return "not a JSON object", {}
    if _LONE.search(line) and not _is_text(value):
        return "half a character: \\ud800 to \\udfff come in pairs", {}
    return None, dict(reversed(value.items()))


def _is_text(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _objects(data: bytes, most: int = 10_000) -> list[dict[str, Any]]:
    """The objects among the first lines, or among the first items of an array."""
    if data.lstrip()[:1] == b"[":
        items = ArrayItems()
        data = items.lines(data[: items.cut(data)] if not data.rstrip().endswith(b"]") else data)
    found = []
    for line in data.split(b"\n", most)[:most]:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(value)
    return found
