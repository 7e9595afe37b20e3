"""Which texts look like times, also in spellings that aren't ISO 8601, and the pattern that reads them. Not for reading them."""

from __future__ import annotations

import re
from typing import Final

import polars as pl

_ZONE: Final = r"(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}|[A-Z]{3,4})?"
_CLOCK: Final = rf"\d{{1,2}}[:.h]\d{{2}}(?:[:.]\d{{2}}(?:[.,]\d{{1,9}})?)?\s*(?:[AaPp]\.?[Mm]\.?)?\s*{_ZONE}"
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_FORMS: Final = (
    rf"\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?:[T ,_]+{_CLOCK})?",
    rf"\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{4}}(?:[T ,]+{_CLOCK})?",
    rf"\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{2}}[T ,]+{_CLOCK}",
    rf"(?:[A-Za-z]{{3,9}},? )?\d{{1,2}}[ /-]{_MONTH}[ ,/-]+\d{{2,4}}(?:[ :T,]+{_CLOCK})?",
    rf"(?:[A-Za-z]{{3,9}},? )?{_MONTH}\.? +\d{{1,2}},?(?: \d{{4}})?[ ,]+{_CLOCK}(?: \d{{4}})?",
    r"\d{8}[T ]\d{4,6}(?:[.,]\d{1,9})?Z?",
)
_LIKE: Final = rf"^\s*(?:{'|'.join(_FORMS)})\s*$"
_PARTS: Final = re.compile(
    r"\s*(?P<a>\d{1,4})(?P<s>[-/.])(?P<b>\d{1,2})[-/.](?P<c>\d{1,4})(?P<gap>[T ,_]*)"
    r"(?P<clock>\d{1,2}[:.]\d{2}(?P<second>[:.]\d{2}(?:(?P<point>[.,])(?P<fraction>\d{1,9}))?)?)?\s*(?P<half>[AaPp][Mm])?\s*"
)


def look_like_times(values: pl.Series) -> bool:
    """Whether it is a column of text, has some, and all of it looks like days or times."""
    if not isinstance(values.dtype, pl.String):
        return False
    text = values.drop_nulls()
    return len(text) > 0 and bool(text.str.contains(_LIKE).all())


def pattern_of(values: pl.Series) -> str | None:
    """The pattern by which texts of digits are read, as in `dd.MM.yyyy HH:mm`; None where that can't be told.

    Where day and month could be either, points and dashes have the day first, slashes the month.
    """
    found = [m for m in map(_PARTS.fullmatch, values.drop_nulls()) if m is not None]
    if not found:
        return None
    first, sign = found[0], found[0]["s"]
    if len(first["a"]) == 4:
        day = sign.join(("yyyy", "MM", "dd"))
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


__all__ = ["look_like_times", "pattern_of"]
