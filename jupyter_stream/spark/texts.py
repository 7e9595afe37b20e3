"""CSV and JSON lines read by Spark itself, for a streaming DataFrame: with options that mean what our reader's do, or refused.

Where the two readers would give different rows of the same good record, the files are refused; a record that is none in the
declared types ends Spark's stream (`FAILFAST`) rather than coming out as NULLs.
"""

from __future__ import annotations

import codecs
import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from jupyter_stream.core.schema import TIMESTAMP, Field, Schema
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions.types import BOOLEAN, DATE, NUMERIC, STRING
from jupyter_stream.spark.expressions import quoted
from jupyter_stream.spark.types import spark_ddl

_KINDS: Final = {".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}
PLAIN: Final = (*NUMERIC, BOOLEAN, STRING, DATE, TIMESTAMP)
"""Types that Spark reads from text as our reader does."""
_READ: Final = frozenset({"format", "delimiter", "header", "quote"})
"""Options of text files that Spark has as well."""
_NOT_PLAIN: Final = (b"\x1f\x8b", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, b"sep=", b'"sep=')
"""What begins files that are packed, in an encoding that a mark says, or have a line that is none of CSV."""
_START: Final = 64 << 10
"""Bytes looked at for how a file is encoded."""
_LINES: Final = 100
"""Lines looked at for how keys are spelt."""


def kind_of(files: Sequence[Path], options: Mapping[str, str]) -> str | None:
    """`csv`, `tsv` or `json` if all files are of that one kind; None for others.

    Args:
        files: the files.
        options: those of the stream.
    """
    told = options.get("format", "").strip().lower()
    kinds = {told.replace("jsonl", "json").replace("ndjson", "json") if told else _KINDS.get(f.suffix) for f in files}
    found = kinds.pop() if len(kinds) == 1 else None
    return found if found in _KINDS.values() else None


def rows_of_texts(
    reader: Any, path: str, files: Sequence[Path], kind: str, schema: Schema, options: Mapping[str, str]
) -> Any:
    """The rows of text files as a DataFrame of the stream's columns.

    Args:
        reader: Spark's, for all at once or as a stream.
        path: a file, folder or pattern.
        files: what is there now.
        kind: as `kind_of` says.
        schema: the stream's columns.
        options: those of the stream, with the delimiter that was found.

    Raises:
        UnsupportedError: Spark would read the files otherwise than our reader.
    """
    beyond = next((o for o in options if o not in _READ), None)
    if beyond is not None:
        raise _refused(f"the option {beyond} works in our reader only")
    odd = next((f for f in schema if f.dtype not in PLAIN), None)
    if odd is not None:
        raise _refused(f"{odd.name} is of a type that Spark writes differently in text")
    for path_ in files:
        _check_utf8(path_)
    if kind == "json":
        _check_keys(files[0], schema)
        return reader.option("mode", "FAILFAST").schema(_ddl(schema)).json(path)
    quote = options.get("quote", '"')
    delimiter = options.get("delimiter", "\t" if kind == "tsv" else ",")
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
    header = options.get("header", "true").strip().lower() == "true"
    fields = _by_header(files, schema, delimiter, quote) if header else schema
    given = {
        "mode": "FAILFAST",
        "sep": delimiter,
        "quote": quote,
        "escape": quote,  # a quote within quotes is doubled, as everywhere but in Spark
        "nullValue": "\0",  # what stands for an empty field on the way: by default a quoted nothing would be NULL as well
        "emptyValue": "",
        "header": str(header).lower(),
        "enforceSchema": "false",  # columns go by their names: another file's other header ends the stream
        "multiLine": "true",  # newlines within quotes
    }
    for name, value in given.items():
        reader = reader.option(name, value)
    return reader.schema(_ddl(fields)).csv(path).select(*[quoted(n) for n in schema.names])


def _by_header(files: Sequence[Path], schema: Schema, delimiter: str, quote: str) -> Schema:
    """The files' columns in their own order, which is the one Spark goes by; those that aren't declared as text."""
    names = _header(files[0], delimiter, quote)
    missing = [n for n in schema.names if n not in names]
    if missing:
        raise _refused(f"the header of {files[0].name} has no {missing[0]} in this spelling")
    if len({n.lower() for n in names}) < len(names) or not all(names):
        raise _refused(f"the header of {files[0].name} has a name twice, or a column without one")
    other = next((f for f in files if _header(f, delimiter, quote) != names), None)
    if other is not None:
        raise _refused(f"the header of {other.name} is not the one of {files[0].name}")
    return Schema(tuple(schema.find(n) or Field(n, pl.String()) for n in names))


def _header(path: Path, delimiter: str, quote: str) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        style: dict[str, Any] = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}
        return next(csv.reader(file, delimiter=delimiter, **style), [])


def _check_utf8(path: Path) -> None:
    """Refuse a file that begins with a mark, which Spark takes for a part of the first name, or isn't text in UTF-8."""
    with path.open("rb") as file:
        start = file.read(_START)
    if start.startswith(_NOT_PLAIN) or b"\0" in start:
        raise _refused(f"{path.name} is not plain text in UTF-8")
    try:
        start[: start.rfind(b"\n") + 1].decode()
    except UnicodeDecodeError:
        raise _refused(f"{path.name} is not plain text in UTF-8") from None


def _check_keys(path: Path, schema: Schema) -> None:
    """A key that is spelt otherwise would be NULL for Spark in every row."""
    keys: set[str] = set()
    with path.open(encoding="utf-8") as file:
        for line, _ in zip(file, range(_LINES), strict=False):
            try:
                found = json.loads(line)
            except ValueError:
                found = None
            if not isinstance(found, dict):
                raise _refused(f"{path.name} is not a file with one object per line")
            keys |= set(found)
    missing = [n for n in schema.names if n not in keys]
    if missing:
        raise _refused(f"the first objects of {path.name} have no {missing[0]} in this spelling")


def _ddl(schema: Schema) -> str:
    return ", ".join(f"{quoted(f.name)} {spark_ddl(f.dtype)}" for f in schema)


def _refused(what: str) -> UnsupportedError:
    return UnsupportedError(
        f"Spark would read these files differently from our reader: {what}",
        hint="Start the query with --engine spark instead: our reader then reads them.",
    )
