"""Where the records of CSV are in a block of its text: newlines inside quotes belong to their record."""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from jupyter_stream.core.messages import Int64s
from jupyter_stream.sources.text import LONGEST

_NEWLINE: Final = ord("\n")


class Quoting(Protocol):
    """What separates fields, and what quotes them; no quote is an empty text."""

    delimiter: str
    quote: str


def records(data: bytes, form: Quoting) -> tuple[Int64s, Int64s, int]:
    """Where the records of a block are; newlines inside quotes belong to their record, blank lines to none.

    A quote that isn't closed within `LONGEST` bytes spoils its own line only.

    Returns:
        Start and end (without newline) of each record, and where a record starts that has an open quote at the end of the
        data, or else the length of the data.
    """
    text = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(text == _NEWLINE)
    if len(data) and data[-1] != _NEWLINE:
        ends = np.append(ends, len(data))
    starts = np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1] + 1])[: len(ends)]
    unclosed = len(data)
    if form.quote and form.quote.encode() in data:
        joined, unclosed = _quoted_lines(data, text, starts, ends, form)
        if len(joined):
            inner = np.zeros(len(starts), dtype=np.int64)
            for first, last in joined:
                inner[first + 1 : last + 1] = 1
            begins = inner == 0
            closes = np.append(begins[1:], True)
            starts, ends = starts[begins], ends[closes]
    ends = ends - ((ends > starts) & (text[np.maximum(ends - 1, 0)] == ord("\r")))
    filled = ends > starts
    return starts[filled], ends[filled], unclosed


def _quoted_lines(
    data: bytes, text: NDArray[np.uint8], starts: Int64s, ends: Int64s, form: Quoting
) -> tuple[list[tuple[int, int]], int]:
    """First and last line of each record that spans lines. Only lines with an odd number of quotes are looked at."""
    quotes = np.flatnonzero(text == ord(form.quote))
    counts = np.searchsorted(quotes, ends) - np.searchsorted(quotes, starts)
    odd = np.flatnonzero(counts & 1).tolist()
    joined: list[tuple[int, int]] = []
    i = 0
    while i < len(odd):
        first = odd[i]
        i += 1
        if not _ends_open(data[starts[first] : ends[first]], form, inside=False):
            continue
        for j in range(i, len(odd)):
            last = odd[j]
            if ends[last] - starts[first] > LONGEST:
                break
            if not _ends_open(data[starts[last] : ends[last]], form, inside=True):
                joined.append((first, last))
                i = j + 1
                break
        else:
            if len(data) - starts[first] <= LONGEST:
                return joined, int(starts[first])
    return joined, len(data)


def _ends_open(line: bytes, form: Quoting, inside: bool) -> bool:
    """Whether a quote is open at the end of a line. A quote opens at the start of a field only."""
    quote, delimiter = form.quote.encode(), form.delimiter.encode()
    at, start = 0, not inside
    while at < len(line):
        if inside:
            at = line.find(quote, at)
            if at < 0:
                return True
            inside = line[at + 1 : at + 2] == quote
            at += 2 if inside else 1
            start = False
        elif start and line[at : at + 1] == quote:
            inside, at = True, at + 1
        else:
            at = line.find(delimiter, at)
            if at < 0:
                return False
            at, start = at + 1, True
    return inside
