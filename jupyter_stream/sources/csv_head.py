"""What the beginning of a CSV file tells: what separates its fields, how its columns are called. Not for their types."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import polars as pl

from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.conform import found_names, match_names
from jupyter_stream.sources.encoding import suggested
from jupyter_stream.sources.text import is_utf8, type_of_text

DELIMITERS: Final = {"\t": "tabs", ";": "';'", "|": "'|'", ",": "','"}
"""What is looked for where nobody says what separates fields, and how it is called. Of those that fit equally well the first:
commas are in text and numbers, too."""
LINES: Final = 100
"""Records looked at."""
_SAID: Final = re.compile(rb'"?sep=([!-~\t])"?\r?(?:\n|\Z)')


@dataclass(frozen=True, slots=True)
class HeaderNames:
    """The columns of a header.

    Attributes:
        all: their names, each once: what has none is called by its place, a name that was there before gets a number.
        unnamed: those of them that were made up.
        repeated: the second and further ones of a name, as they are called here.
    """

    all: tuple[str, ...]
    unnamed: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """Sentences about names that are not the file's own."""
        said = []
        if self.unnamed:
            have, are = ("have", "are") if len(self.unnamed) > 1 else ("has", "is")
            said.append(f"{', '.join(self.unnamed)} {have} no name in the header and {are} called by place.")
        if self.repeated:
            said.append(
                f"A name stands in the header again: its further columns are called {', '.join(self.repeated)}."
            )
        return said


def names_of(fields: Sequence[str | None]) -> HeaderNames:
    """What the fields of a header are called, without the spaces around them."""
    given = [(name or "").strip() for name in fields]
    taken = set(given)
    found: list[str] = []
    seen: set[str] = set()
    unnamed, repeated = [], []
    for place, name in enumerate(given):
        free = name
        if not name:
            free = _free(f"column{place}", taken)
            unnamed.append(free)
        elif name in seen:
            free = _free(name, taken)
            repeated.append(free)
        seen.add(name)
        taken.add(free)
        found.append(free)
    return HeaderNames(tuple(found), tuple(unnamed), tuple(repeated))


def is_row(header: Sequence[str], types: Sequence[pl.DataType]) -> bool:
    """Whether a header may be a row like the others: it has a number or a time over each column of such."""
    typed = [(name, t) for name, t in zip(header, types, strict=True) if not isinstance(t, pl.String | pl.Null)]
    words = [type_of_text(pl.Series([name])) for name, _ in typed]
    return bool(typed) and all(not isinstance(t, pl.String) for t in words)


def check_header(first: Sequence[str], path: Path, head: bytes) -> None:
    """Refuse a header that isn't UTF-8, whose names nobody could write.

    Raises:
        SourceError: naming the encoding to write.
    """
    if any("\ufffd" in name for name in first) and not is_utf8(head):
        raise SourceError(
            f"The header of {path} is not UTF-8.", hint=f"Name its encoding: WITH (encoding = '{suggested(head)}')."
        )


def positions(header: bool, first: Sequence[str], schema: Schema, path: Path, *, all_: bool = True) -> dict[str, int]:
    """At which field of a record each column of the schema stands, by the file's first record.

    Args:
        header: whether that has names.
        first: the fields of its first record.
        schema: the columns.
        path: the file, for errors.
        all_: whether all of them must be there, rather than one.

    Raises:
        SourceError: when a declared column isn't there.
    """
    if header:
        names = names_of(first).all
        there = found_names(schema, names)
        if len(there) < len(schema) and (all_ or not there):
            try:
                match_names(schema, names, str(path))
            except SourceError as error:
                told = f"{error.hint or ''} Where files have no header, write WITH (header = 'false')."
                if len(names) == 1:
                    told += " Where something else separates fields, write WITH (delimiter = ';')."
                raise SourceError(error.message, hint=told.strip()) from None
        return {name: names.index(found) for name, found in there.items()}
    if len(first) != len(schema):
        raise SourceError(
            f"{path} has {len(first)} fields in its first record, for the {len(schema)} columns declared.",
            hint="Without a header, columns are taken by position.",
        )
    return {name: i for i, name in enumerate(schema.names)}


def said_delimiter(data: bytes) -> str | None:
    """What the line `sep=;` says with which some spreadsheets begin a file; None where there is none."""
    found = _SAID.match(data)
    return found[1].decode() if found is not None else None


def without_said(data: bytes) -> bytes:
    """The beginning of a file without that line."""
    found = _SAID.match(data)
    return data[found.end() :] if found is not None else data


@dataclass(frozen=True, slots=True)
class Fit:
    """How well a delimiter fits the first records.

    Attributes:
        declared: how many of the declared columns are there by it; 0 where none are declared.
        even: the share of the records that have as many fields as the first.
        width: how many fields the first has.
    """

    declared: int
    even: float
    width: int


def best_delimiter(fits: Mapping[str, Fit], default: str) -> str:
    """The one that separates the fields.

    Args:
        fits: of `DELIMITERS`, and of the default where it is another one.
        default: the one that does if no other fits better.
    """
    splits = {d: f for d, f in fits.items() if f.width > 1 and f.even >= 0.5}
    splits.setdefault(default, replace(fits[default], even=0.0))
    order = sorted(splits, key=lambda d: list(DELIMITERS).index(d) if d in DELIMITERS else len(DELIMITERS))
    return max(order, key=lambda d: (splits[d].declared, splits[d].even, splits[d].width))


def _free(name: str, taken: set[str]) -> str:
    """The name, or with the first number behind it that makes it another than those taken."""
    free, number = name, 0
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free
