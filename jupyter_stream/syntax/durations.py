"""Lengths of time from numbers and texts, where none of them may be too long to be counted in microseconds."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from jupyter_stream.core import time

LONGEST = 2**62
"""Microseconds; half of what a BIGINT holds, so that times can be added to it."""


def microseconds(number: float | str, unit: int) -> int | None:
    """So many units as microseconds, what is less than one cut off; None if that is too long."""
    try:
        value = Decimal(str(number)) * unit
    except InvalidOperation:
        return None
    return int(value) if value.is_finite() and abs(value) < LONGEST else None


def parse_duration(text: str) -> int | None:
    """Microseconds of `'5 seconds'`, None if the text is not a length of time or too long."""
    try:
        value = time.parse_duration(text)
    except OverflowError:
        return None
    return value if value is not None and value < LONGEST else None
