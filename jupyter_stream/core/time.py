"""Time is int64 microseconds since the epoch in UTC. Not for wall-clock reading: operators never read clocks."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import Final

MIN_TIME: Final = -(2**63)
"""Minus infinity: the punctuation before anything was said."""
MAX_TIME: Final = 2**63 - 1
"""Plus infinity: the punctuation of a source that has ended."""

UNITS: Final[dict[str, int]] = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}
"""Microseconds per unit; see `unit` for the spellings."""

_ALIASES: Final[dict[str, str]] = {
    "US": "MICROSECOND", "MS": "MILLISECOND", "MSEC": "MILLISECOND", "SEC": "SECOND", "S": "SECOND",
    "MIN": "MINUTE", "HR": "HOUR", "H": "HOUR", "D": "DAY", "W": "WEEK",
}  # fmt: skip
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")
_EPOCH = dt.datetime(1970, 1, 1)


def unit(word: str) -> int | None:
    """Microseconds in the unit a word names (singular, plural or `min`/`sec`), None if it names none."""
    w = word.upper()
    for candidate in (w, w.removesuffix("S")):
        if candidate in UNITS:
            return UNITS[candidate]
        if candidate in _ALIASES:
            return UNITS[_ALIASES[candidate]]
    return None


def parse_duration(text: str) -> int | None:
    """Microseconds of `'5 seconds'`, `'2 min'`, `'1 hour 30 minutes'`, fractions of them cut off; None if it is no duration."""
    total, at = Decimal(0), 0
    while at < len(text):
        match = _DURATION.match(text, at)
        micros = unit(match[2]) if match else None
        if match is None or micros is None:
            return None
        total += Decimal(match[1]) * micros
        at = match.end()
    return int(total) if at else None


def show(micros: int | None) -> str:
    """A time for people: ISO without zone (UTC), fractions only where there are any."""
    if micros is None or micros == MIN_TIME:
        return "-∞"
    if micros == MAX_TIME:
        return "+∞"
    try:
        return (_EPOCH + dt.timedelta(microseconds=micros)).isoformat(sep=" ")
    except OverflowError:
        return str(micros)


def show_duration(micros: int) -> str:
    """A declared duration in its largest whole unit, as it may be written: `5 minutes`, `90 seconds`."""
    for name in reversed(UNITS):
        if micros % UNITS[name] == 0 and (micros or name == "SECOND"):
            n = micros // UNITS[name]
            return f"{n} {name.lower()}{'' if n == 1 else 's'}"
    return f"{micros} microseconds"


def show_span(micros: int) -> str:
    """A measured length of time in its two largest units: `0.8 ms`, `350 ms`, `4.2 s`, `3 min 20 s`, `26 h 5 min`."""
    seconds = abs(micros) / 1e6
    sign = "-" if micros < 0 else ""
    if seconds < 1:
        return f"{sign}{seconds * 1000:{'.0f' if seconds >= 0.01 else '.2g'}} ms"
    if seconds < 60:
        return f"{sign}{seconds:.3g} s"
    whole = int(seconds)
    for size_of, large, small_of, small in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size_of:
            low = whole % size_of // small_of
            return f"{sign}{whole // size_of} {large}" + (f" {low} {small}" if low else "")
    raise AssertionError("a minute or more")


def from_datetime(value: dt.datetime) -> int:
    """Microseconds of a datetime; one without zone is taken as UTC."""
    if value.tzinfo is not None:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)
    return (value - _EPOCH) // dt.timedelta(microseconds=1)


_SECONDS: Final = (946_684_800, 4_102_444_800)
"""2000 to 2100, in seconds since 1970. As microseconds they are the first two hours of 1970."""


def other_unit(least: int, most: int) -> str | None:
    """`s`, `ms` or `ns` where all times from least to most are of our age in that unit since 1970; None in microseconds."""
    for unit, ticks in (("s", 1), ("ms", 1_000), ("ns", 1_000_000_000)):
        if least >= _SECONDS[0] * ticks and most <= _SECONDS[1] * ticks:
            return unit
    return None
