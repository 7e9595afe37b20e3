"""Date and time patterns of `date_format` and `to_timestamp`: the common part of Java's. Not for SQL names."""

from __future__ import annotations

import re
from typing import Final

import polars as pl

from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.functions import calendar, parsing
from jupyter_stream.functions.elementwise import stepwise
from jupyter_stream.functions.function import BadArguments
from jupyter_stream.functions.types import BIGINT

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_SHOWN: Final = {
    "yyyy": "%Y", "yy": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%-m", "dd": "%d", "d": "%-d", "DDD": "%j", "D": "%-j",
    "EEEE": "%A", "EEE": "%a", "EE": "%a", "E": "%a", "HH": "%H", "H": "%-H", "hh": "%I", "h": "%-I", "mm": "%M", "m": "%-M",
    "ss": "%S", "s": "%-S", "SSS": "%3f", "SSSSSS": "%6f", "a": "%p", "X": "Z", "XX": "Z", "XXX": "Z",
}  # fmt: skip
"""What can be shown, as Polars writes it."""

_ONE: Final = "([0-9]{1,2})"
_TWO: Final = "([0-9]{2})"
_READ: Final = {
    "yyyy": "(-?[0-9]{4})", "MMM": f"({'|'.join(_MONTHS)})", "MM": _TWO, "M": _ONE, "dd": _TWO, "d": _ONE,
    "HH": _TWO, "H": _ONE, "hh": _TWO, "h": _ONE, "mm": _TWO, "m": _ONE, "ss": _TWO, "s": _ONE,
    "SSS": "([0-9]{3})", "SSSSSS": "([0-9]{6})", "a": "(AM|PM|am|pm)", "XXX": "(Z|[+-][0-9]{2}:[0-9]{2})",
}  # fmt: skip
"""What can be read, as a regular expression."""

_TOKEN: Final = re.compile(r"([A-Za-z])\1*|'((?:[^']|'')*)'|[^A-Za-z']")


def _tokens(pattern: str, known: dict[str, str]) -> list[tuple[str, bool]]:
    """Fields (true) and texts (false) of a pattern."""
    made: list[tuple[str, bool]] = []
    at = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None or token[0] in "[]{}#":
            raise BadArguments(f"the pattern {pattern!r} can't be read at {pattern[at:]!r}")
        at = token.end()
        if token[1]:
            if token[0] not in known:
                raise BadArguments(f"the pattern {pattern!r} has {token[0]}; there are {', '.join(known)}")
            made.append((token[0], True))
        else:
            made.append((token[0] if token[2] is None else (token[2].replace("''", "'") or "'"), False))
    return made


def check_shown(pattern: str) -> None:
    """Raise BadArguments unless the pattern can be shown."""
    _tokens(pattern, _SHOWN)


def check_read(pattern: str) -> None:
    """Raise BadArguments unless the pattern can be read."""
    fields = [t[0] for t, is_field in _tokens(pattern, _READ) if is_field]
    if not fields:
        raise BadArguments(f"the pattern {pattern!r} has no field such as yyyy")
    if len(set(fields)) < len(fields):
        raise BadArguments(f"the pattern {pattern!r} has a field twice")
    if "h" in fields and "a" not in fields:
        raise BadArguments(f"the pattern {pattern!r} has h without a; write H for hours up to 23")


def show(timestamp: pl.Expr, pattern: str) -> pl.Expr:
    """A timestamp by a pattern."""
    form = "".join(_SHOWN[t] if is_field else t.replace("%", "%%") for t, is_field in _tokens(pattern, _SHOWN))
    near = pl.when((calendar.micros(timestamp) // calendar.DAY).is_between(-calendar.FAR, calendar.FAR)).then(timestamp)
    return near.dt.to_string(form) if form else pl.when(timestamp.is_not_null()).then(pl.lit(""))


def read(text: pl.Expr, pattern: str) -> pl.Expr:
    """The timestamp a string says by a pattern, NULL if it isn't written so; parts not given are those of 1970-01-01."""
    return stepwise(lambda series: _read(series, pattern), TIMESTAMP, text)


def _read(text: pl.Series, pattern: str) -> pl.Series:
    tokens = _tokens(pattern, _READ)
    form = "".join(_READ[t] if is_field else re.escape(t) for t, is_field in tokens)
    part = text.str.extract_groups(f"^{form}$").struct.unnest()
    part.columns = [t[0] for t, is_field in tokens if is_field]
    missing = {"y": 1970, "M": 1, "d": 1, "H": 0, "m": 0, "s": 0, "S": 0, "h": 12}
    # A text that doesn't match has NULL in all its fields; those a pattern leaves out are constant.
    texts = {"a", "X", "M"} if ("MMM", True) in tokens else {"a", "X"}
    made = part.with_columns(parsing.number(c, None) for c in part.columns if c not in texts)
    made = made.with_columns(pl.lit(v, dtype=BIGINT).alias(c) for c, v in missing.items() if c not in part.columns)
    if "M" in texts:
        made = made.with_columns(pl.col("M").replace_strict(_MONTHS, range(1, 13), default=None, return_dtype=BIGINT))
    hour, valid = pl.col("H"), (pl.col("H") < 24) & (pl.col("m") < 60) & (pl.col("s") < 60)
    if "a" in part.columns:
        hour = pl.col("h") % 12 + 12 * pl.col("a").str.to_lowercase().eq("pm").cast(BIGINT)
        valid = valid & pl.col("h").is_between(1, 12)
    zone = parsing.offset(pl.col("X")) if "X" in part.columns else pl.lit(0, dtype=BIGINT)
    made = made.with_columns(
        days=calendar.days(pl.col("y"), pl.col("M"), pl.col("d")),
        seconds=hour * 3600 + pl.col("m") * 60 + pl.col("s") - zone,
        fraction=pl.col("S") * (1000 if ("SSS", True) in tokens else 1),
    )
    whole = calendar.timestamp(pl.col("days"), pl.col("seconds"), pl.col("fraction"))
    return made.select(pl.when(valid).then(whole)).to_series().alias(text.name)
