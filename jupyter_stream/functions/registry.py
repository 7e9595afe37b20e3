"""The function table, family by family, and the look-up in it. To add a function: one row in a family's file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from jupyter_stream.core.suggest import nearest
from jupyter_stream.functions import (
    arithmetic,
    array_sets,
    arrays,
    buckets,
    casts,
    checks,
    clock,
    comparison,
    conditional,
    encoding,
    format_text,
    hashing,
    higher_order,
    json,
    json_structs,
    maps,
    maths,
    numbers,
    patterns,
    percent_dates,
    spans,
    special,
    structs,
    text,
    time,
    trigonometry,
    try_functions,
)
from jupyter_stream.functions.expression import Expr
from jupyter_stream.functions.function import Function, UnknownFunction
from jupyter_stream.functions.own import OwnName

TABLE: Final[tuple[Function, ...]] = (
    *arithmetic.FUNCTIONS,
    *comparison.FUNCTIONS,
    *conditional.FUNCTIONS,
    *casts.FUNCTIONS,
    *maths.FUNCTIONS,
    *trigonometry.FUNCTIONS,
    *numbers.FUNCTIONS,
    *text.FUNCTIONS,
    *encoding.FUNCTIONS,
    *checks.FUNCTIONS,
    *special.FUNCTIONS,
    *format_text.FUNCTIONS,
    *patterns.FUNCTIONS,
    *time.FUNCTIONS,
    *buckets.FUNCTIONS,
    *percent_dates.FUNCTIONS,
    *spans.FUNCTIONS,
    *clock.FUNCTIONS,
    *arrays.FUNCTIONS,
    *array_sets.FUNCTIONS,
    *higher_order.FUNCTIONS,
    *json.FUNCTIONS,
    *hashing.FUNCTIONS,
    *json_structs.FUNCTIONS,
    *structs.FUNCTIONS,
    *maps.FUNCTIONS,
    *try_functions.FUNCTIONS,
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
    if isinstance(name, OwnName):
        return name.owner.row
    found = _BY_NAME.get(name.lower())
    if found is None:
        raise UnknownFunction(name, nearest(name, [n for n in _BY_NAME if n[0].isalpha()]))
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


def has(name: str) -> bool:
    """Whether a name in lower case is in the table."""
    return name in _BY_NAME


def describe() -> tuple[Description, ...]:
    """What DESCRIBE FUNCTIONS shows, by name; operators first."""
    rows = [Description(f.name, f.signature, f.description, f.example) for f in TABLE]
    return tuple(sorted(rows, key=lambda r: (r.name[0].isalpha(), r.name)))
