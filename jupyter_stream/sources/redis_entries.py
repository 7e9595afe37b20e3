"""Entries of Redis, which are fields of text, as JSON of text: casting to the columns' types is then that of any JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import polars as pl

from jupyter_stream.core.schema import Schema
from jupyter_stream.sources.text import type_of_text


def as_json(fields: Mapping[bytes, bytes]) -> bytes:
    """An entry as an object of texts. Bytes that are no text stay as they are, and are then found to be none."""
    if all(part.isascii() or _is_text(part) for pair in fields.items() for part in pair):
        return json.dumps({k.decode(): v.decode() for k, v in fields.items()}, ensure_ascii=False).encode()
    return b"{" + b", ".join(b'"' + k + b'": "' + v + b'"' for k, v in fields.items()) + b"}"


def typed(values: Sequence[bytes]) -> Schema:
    """The columns of entries, each of the narrowest type all its texts fit."""
    rows = []
    for value in values:
        try:
            rows.append(json.loads(value))
        except ValueError:
            continue
    names = dict.fromkeys(name for row in rows for name in row if name)
    words = ((name, pl.Series([row.get(name) for row in rows], dtype=pl.String)) for name in names)
    return Schema.of((name, type_of_text(column)) for name, column in words)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
