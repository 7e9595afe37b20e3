"""The function table, family by family, and the look-up in it. To add a function: one row in a family's file."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Final, NamedTuple

from jupyter_stream.functions import (
    arithmetic,
    arrays,
    casts,
    comparison,
    conditional,
    json,
    maths,
    patterns,
    structs,
    text,
    time,
)
from jupyter_stream.functions.expression import Expr
from jupyter_stream.functions.function import Function, UnknownFunction

TABLE: Final[tuple[Function, ...]] = (
    *arithmetic.FUNCTIONS,
    *comparison.FUNCTIONS,
    *conditional.FUNCTIONS,
    *casts.FUNCTIONS,
    *maths.FUNCTIONS,
    *text.FUNCTIONS,
    *patterns.FUNCTIONS,
    *time.FUNCTIONS,
    *arrays.FUNCTIONS,
    *json.FUNCTIONS,
    *structs.FUNCTIONS,
)

_BY_NAME: Final = {f.name: f for f in TABLE}


class Description(NamedTuple):
    """A row of DESCRIBE FUNCTIONS."""

    name: str
    signature: str
    description: str
    example: str


def find(name: str) -> Function:
    """The table's row.

    Raises:
        UnknownFunction: if there is none of that name, with the nearest ones.
    """
    found = _BY_NAME.get(name.lower())
    if found is None:
        words = [n for n in _BY_NAME if n[0].isalpha()]
        raise UnknownFunction(name, tuple(difflib.get_close_matches(name.lower(), words, n=3, cutoff=0.6)))
    return found


def resolve(name: str, args: Sequence[Expr]) -> Expr:
    """The typed call of a function: arguments are coerced by Spark 4's ANSI rules, the casts written out as `cast` calls.

    Some functions are written in terms of others (`nvl` is `coalesce`). Nothing is folded.

    Raises:
        UnknownFunction: if there is no function of that name.
        BadArguments: if it doesn't take these arguments.
    """
    return find(name).bind(tuple(args))


def names() -> tuple[str, ...]:
    """Every name in the table, operators included."""
    return tuple(_BY_NAME)


def describe() -> tuple[Description, ...]:
    """What DESCRIBE FUNCTIONS shows, by name; operators first."""
    rows = [Description(f.name, f.signature, f.description, f.example) for f in TABLE]
    return tuple(sorted(rows, key=lambda r: (r.name[0].isalpha(), r.name)))
