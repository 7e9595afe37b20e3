"""`hash(x, i)`: any number of hash functions that have nothing to do with each other, the same on both engines."""

from __future__ import annotations

import hashlib
from typing import Final

from jupyter_stream.functions.binding import admit, argument, count
from jupyter_stream.functions.casts import cast
from jupyter_stream.functions.elementwise import rowwise
from jupyter_stream.functions.expression import Call, Expr, Literal
from jupyter_stream.functions.function import Function, strict
from jupyter_stream.functions.types import BIGINT, STRING

_DIGITS: Final = 15
BITS: Final = 4 * _DIGITS
"""A hash is from 0 to 2 to the power of this."""


def hashed(text: str, number: int) -> int:
    """The hash of a text by the function of that number: the first digits of an MD5 checksum."""
    return int(hashlib.md5(f"{number}:{text}".encode(), usedforsecurity=False).hexdigest()[:_DIGITS], 16)


def unit(text: str, number: int) -> float:
    """The same as a number from 0 to 1, without 1."""
    return float(hashed(text, number) >> 7) / float(2 ** (BITS - 7))


def _bind(args: tuple[Expr, ...]) -> Expr:
    count("hash", args, 1, 2)
    number = args[1] if len(args) > 1 else Literal(0, BIGINT)
    return Call("hash", (cast(admit(args[0]), STRING), argument("hash", 1, number, BIGINT)), BIGINT)


FUNCTIONS: Final = (
    Function(
        "hash", "hash(x[, i]) -> BIGINT",
        "A number from 0 to 2^60 that looks like chance and is the same for equal x; each i is another hash function.",
        "hash('a', 1) = 198459236097324307", _bind,
        strict(lambda call, text, number: rowwise(hashed, BIGINT, text, number)),
        "CAST(conv(substring(md5(concat(CAST({1} AS STRING), ':', {0})), 1, 15), 16, 10) AS BIGINT)",
    ),
)  # fmt: skip
