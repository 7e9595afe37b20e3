"""Functions that take a unit of time as a bare word: `timestampdiff(MONTH, a, b)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from jupyter_stream.syntax.nodes import ColumnRef, Node, UnitWord

UNITS: Final = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")

BARE_ONLY: Final = ("timestampdiff", "timestampadd", "datediff", "date_diff", "dateadd", "date_add")
"""Functions whose first argument of three is a unit. Other systems count otherwise where the unit stands in quotes."""

_PLACES: Final[Mapping[tuple[str, int], int]] = {
    **{(name, 3): 0 for name in BARE_ONLY}, ("date_trunc", 2): 0, ("trunc", 2): 1, ("date_part", 2): 0,
    ("timestamp_trunc", 2): 1,
}  # fmt: skip
"""By a function's name and the number of its arguments, which of them is a unit."""


def unit(text: object) -> str | None:
    """The unit that a word names, in capitals and the singular; None if it names none."""
    word = str(text).upper().removesuffix("S")
    return word if word in UNITS else None


def with_units(function: str, args: Sequence[Node]) -> list[Node]:
    """A call's arguments, the one that is a unit as such; it is no column."""
    found = list(args)
    at = _PLACES.get((function.lower(), len(found)))
    if at is None:
        return found
    node = found[at]
    if isinstance(node, ColumnRef) and node.qualifier is None and (word := unit(node.name.text)):
        found[at] = UnitWord(word, pl.String(), node.span)
    return found
