"""Which texts look like times, also in spellings that aren't ISO 8601, and the pattern that reads them. Not for reading them."""

from __future__ import annotations

import datetime as dt
import re
from calendar import monthrange
from typing import Final

import polars as pl

from jupyter_stream.core.instants import parse_instants

_OFFSET: Final = r"(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}|[A-Z]{3,4})?"
_ZONE: Final = rf"{_OFFSET}\s*(?:\[?[A-Z][a-z]+/[A-Za-z_/-]+\]?)?"
_CLOCK: Final = rf"\d{{1,2}}[:.h]\d{{2}}(?:[:.]\d{{2}}(?:[.,]\d{{1,9}})?)?\s*(?:[AaPp]\.?[Mm]\.?)?\s*{_ZONE}"
_MONTH: Final = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|"
    r"Nov(?:ember)?|Dec(?:ember)?)"
)
_FORMS: Final = (
    rf"\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?:[T ,_]+{_CLOCK})?",
    rf"\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{4}}(?:[T ,]+{_CLOCK})?",
    rf"\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{2}}[T ,]+{_CLOCK}",
    rf"(?:[A-Za-z]{{3,9}},? )?\d{{1,2}}[ /-]{_MONTH}[ ,/-]+\d{{2,4}}(?:[ :T,]+{_CLOCK})?",
    rf"(?:[A-Za-z]{{3,9}},? )?{_MONTH}\.? +\d{{1,2}},?(?: \d{{4}})?[ ,]+{_CLOCK}(?: \d{{4}})?",
    rf"{_MONTH}\.? +\d{{1,2}}(?:st|nd|rd|th)?(?:,? +\d{{4}})?(?:[ ,]+{_CLOCK})?",
    rf"\d{{1,2}}(?:st|nd|rd|th|\.)?(?: of)? +{_MONTH}\.?(?:,? +\d{{4}})?(?:[ ,]+{_CLOCK})?",
    r"\d{8}[T ]\d{4,6}(?:[.,]\d{1,9})?Z?",
)
_LIKE: Final = rf"^\s*\[?(?:{'|'.join(_FORMS)})\]?\s*$"
_EXAMPLE: Final = {
    "yyyy": "2024",
    "yy": "24",
    "MM": "05",
    "M": "5",
    "dd": "01",
    "d": "1",
    "HH": "10",
    "hh": "10",
    "a": "AM",
}
_PARTS: Final = re.compile(
    r"\s*(?P<a>\d{1,4})(?P<s>[-/.])(?P<b>\d{1,2})[-/.](?P<c>\d{1,4})(?P<gap>[T ,_]*)"
    r"(?P<clock>\d{1,2}[:.]\d{2}(?P<second>[:.]\d{2}(?:(?P<point>[.,])(?P<fraction>\d{1,9}))?)?)?\s*(?P<half>[AaPp][Mm])?\s*"
)
_NAMED: Final = re.compile(
    rf"\s*(?P<open>\[?)(?P<day>\d{{1,2}})(?P<s>[ /-])(?P<month>{_MONTH})(?P<t>[ /-])\d{{4}}"
    r"(?:(?P<gap>[ :T])\d{2}:\d{2}(?P<second>:\d{2})?(?P<zone> (?:[+-]\d{4}|GMT|UTC))?)?(?P<close>\]?)\s*"
)
_MONTH_FIRST: Final = re.compile(
    rf"\s*(?P<month>{_MONTH}) (?P<day>\d{{1,2}})(?:, (?P<year>\d{{4}}))?"
    r"(?:(?P<gap>,? )(?P<hour>\d{1,2}):\d{2}(?P<second>:\d{2})?(?: (?P<half>[AaPp][Mm]))?)?(?P<late> \d{4})?\s*"
)
_COMPACT: Final = re.compile(
    r"\s*\d{8}(?P<gap>[T ])\d{4}(?P<second>\d{2}(?:(?P<point>[.,])(?P<fraction>\d{1,9}))?)?(?P<zone>Z?)\s*"
)


def look_like_times(values: pl.Series) -> bool:
    """Whether it is a column of text, has some, and all of it looks like days or times."""
    if not isinstance(values.dtype, pl.String):
        return False
    text = values.drop_nulls()
    return len(text) > 0 and bool(text.str.contains(_LIKE).all())


def look_like_clocks(values: pl.Series) -> bool:
    """Whether it is a column of text, has some, and all of it looks like times of day."""
    if not isinstance(values.dtype, pl.String):
        return False
    text = values.drop_nulls()
    return len(text) > 0 and bool(text.str.contains(r"^\s*\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?\s*$").all())


def pattern_of(values: pl.Series) -> str | None:
    """The pattern by which texts are read, as in `dd.MM.yyyy HH:mm` or `dd/MMM/yyyy:HH:mm:ss Z`; None where that can't be told.

    Where day and month could be either, points and dashes have the day first, slashes the month.
    """

    def found_by(form: re.Pattern[str]) -> list[re.Match[str]]:
        return [m for m in map(form.fullmatch, values.drop_nulls()) if m is not None]

    found = found_by(_PARTS)
    if not found:
        return _with_names(found_by(_NAMED)) or _month_first(found_by(_MONTH_FIRST)) or _compact(found_by(_COMPACT))
    first, sign = found[0], found[0]["s"]
    if len(first["a"]) == 4:
        day = sign.join(("yyyy", "MM", "dd"))
    elif _year_first(found):
        day = sign.join(("yy", "MM", "dd"))
    else:
        late = any(int(m["a"]) > 12 for m in found) or (sign != "/" and not any(int(m["b"]) > 12 for m in found))
        numbers = (("dd", first["a"]), ("MM", first["b"])) if late else (("MM", first["a"]), ("dd", first["b"]))
        short = [
            letters if all(len(m[k]) == 2 for m in found) else letters[0]
            for (letters, _), k in zip(numbers, "ab", strict=True)
        ]
        day = sign.join((*short, "y" * len(first["c"])))
    if first["clock"] is None:
        return day
    gap = "'T'" if first["gap"] == "T" else first["gap"]
    hour = "h" * 2 if first["half"] else "HH"
    second = (
        ""
        if first["second"] is None
        else ":ss" + (f"{first['point']}{'S' * len(first['fraction'])}" if first["point"] else "")
    )
    return f"{day}{gap}{hour}:mm{second}{' a' if first['half'] else ''}"


def _year_first(found: list[re.Match[str]]) -> bool:
    """Whether years of two digits stand before the month, `24/05/01`; of two places that with fewer, or later ones."""
    if any(len(m[k]) != 2 for m in found for k in "abc"):
        return False
    days = [(int(m["a"]), int(m["b"]), int(m["c"])) for m in found]
    first = all(_in_calendar(*day) for day in days)
    if not first or not all(_in_calendar(c, b, a) or _in_calendar(c, a, b) for a, b, c in days):
        return first

    def likely(years: set[int]) -> tuple[bool, int, int]:
        return max(years) <= _this_year() % 100 + 1, -len(years), max(years)

    return likely({a for a, _, _ in days}) > likely({c for _, _, c in days})


def _this_year() -> int:
    return dt.date.today().year


def _in_calendar(year: int, month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= monthrange(max(1, year + 2000 * (year < 100)), month)[1]


def _with_names(found: list[re.Match[str]]) -> str | None:
    """The pattern of texts whose months are words."""
    if not found:
        return None
    first, day = found[0], _days(found)
    month = "MMMM" if any(len(m["month"]) > 3 for m in found) else "MMM"
    clock = ""
    if first["gap"]:
        gap = "'T'" if first["gap"] == "T" else first["gap"]
        clock = f"{gap}HH:mm{':ss' if first['second'] else ''}{_zone(first['zone'])}"
    ends = [f"'{sign}'" if sign else "" for sign in (first["open"], first["close"])]
    return f"{ends[0]}{day}{first['s']}{month}{first['t']}yyyy{clock}{ends[1]}"


def _month_first(found: list[re.Match[str]]) -> str | None:
    if not found or (found[0]["year"] is None) == (found[0]["late"] is None):
        return None
    first = found[0]
    day = f"{'MMMM' if any(len(m['month']) > 3 for m in found) else 'MMM'} {_days(found)}{', yyyy' if first['year'] else ''}"
    clock = ""
    if first["gap"]:
        hour = ("h" if first["half"] else "H") * (2 if all(len(m["hour"]) == 2 for m in found) else 1)
        clock = f"{first['gap']}{hour}:mm{':ss' if first['second'] else ''}{' a' if first['half'] else ''}"
    return f"{day}{clock}{' yyyy' if first['late'] else ''}"


def _days(found: list[re.Match[str]]) -> str:
    return "dd" if all(len(m["day"]) == 2 for m in found) else "d"


def _compact(found: list[re.Match[str]]) -> str | None:
    if not found:
        return None
    first = found[0]
    gap = "'T'" if first["gap"] == "T" else " "
    fraction = f"{first['point']}{'S' * len(first['fraction'])}" if first["point"] else ""
    return f"yyyyMMdd{gap}HHmm{'ss' if first['second'] else ''}{fraction}{'X' if first['zone'] else ''}"


def _zone(text: str | None) -> str:
    if text is None:
        return ""
    return f" '{text[1:]}'" if text[1:].isalpha() else " Z"


def pattern_to_declare(values: pl.Series) -> str | None:
    """The pattern of texts that are days or times in a spelling that isn't read without one; None where that can't be told."""
    parts = ((value, _PARTS.fullmatch(value)) for value in values.drop_nulls())
    days = [value for value, found in parts if (_has_form(value) if found is None else _is_day(found))]
    pattern = pattern_of(pl.Series(days, dtype=pl.String))
    if pattern is None:
        return None
    example = re.sub("[a-zA-Z]+", lambda m: _EXAMPLE.get(m[0], "0" * len(m[0])), pattern.replace("'T'", " "))
    return pattern if parse_instants(pl.Series([example]))[0] is None else None


def _has_form(value: str) -> bool:
    return any(form.fullmatch(value) for form in (_NAMED, _MONTH_FIRST, _COMPACT))


def _is_day(parts: re.Match[str]) -> bool:
    """Whether the calendar has it, with day and month in either order."""
    a, b, c = int(parts["a"]), int(parts["b"]), int(parts["c"])
    if len(parts["a"]) <= 2 and len(parts["c"]) not in (2, 4):
        return False
    if len(parts["a"]) > 2 or (len(parts["c"]) == 2 and _in_calendar(a, b, c)):
        return _in_calendar(a, b, c)
    return _in_calendar(c, b, a) or _in_calendar(c, a, b)


__all__ = ["look_like_clocks", "look_like_times", "pattern_of", "pattern_to_declare"]
