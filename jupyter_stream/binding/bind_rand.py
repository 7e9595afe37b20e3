"""`rand()` in a query: chance worked out from the row's number and the stream's seed, so that it repeats, on both engines."""

from __future__ import annotations

import zlib
from typing import Final

from jupyter_stream import functions
from jupyter_stream.functions import Expr, Literal
from jupyter_stream.functions.hashing import BITS
from jupyter_stream.functions.types import BIGINT, DOUBLE
from jupyter_stream.plan.logical import Plan, streams

_SHIFT: Final = 2**7
"""A DOUBLE has 53 bits: the last 7 of a hash are left out."""


def rand_of(number: Expr, plan: Plan, place: int) -> Expr:
    """A number from 0 to 1, without 1, for each row.

    Args:
        number: the row's number.
        plan: what FROM reads.
        place: where it stands in the text: each rand() is chance of its own.
    """
    function = zlib.crc32(f"{_seeds(plan)} {place}".encode())
    hashed = functions.resolve("hash", [number, Literal(function, BIGINT)])
    whole = functions.resolve("div", [hashed, Literal(_SHIFT, BIGINT)])
    return functions.resolve("/", [functions.cast(whole, DOUBLE), Literal(float(2**BITS // _SHIFT), DOUBLE)])


def seed_of(plan: Plan) -> int:
    """What the streams' seeds come to, for chance in the body of an aggregate."""
    return zlib.crc32(_seeds(plan).encode())


def _seeds(plan: Plan) -> str:
    return " ".join(v for s in streams(plan) for k, v in s.options.items() if k.lower() == "seed")


__all__ = ["rand_of", "seed_of"]
