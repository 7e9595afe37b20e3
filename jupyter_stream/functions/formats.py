"""Date and time patterns of `date_format` and `to_timestamp`: the common part of Java's. Not for SQL names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import polars as pl

from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.functions import calendar, parsing
from jupyter_stream.functions.elementwise import stepwise
from jupyter_stream.functions.function import BadArguments
from jupyter_stream.functions.types import BIGINT

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_FULL_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip

_SHOWN: Final = {
    "yyyy": "%Y", "y": "%-Y", "yy": "%y",
    "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%-m", "dd": "%d", "d": "%-d", "DDD": "%j", "D": "%-j",
    "EEEE": "%A", "EEE": "%a", "EE": "%a", "E": "%a", "HH": "%H", "H": "%-H", "hh": "%I", "h": "%-I", "mm": "%M", "m": "%-M",
    "ss": "%S", "s": "%-S", "SSS": "%3f", "SSSSSS": "%6f", "a": "%p", "X": "Z", "XX": "Z", "XXX": "Z",
    "x": "+00", "xx": "+0000", "xxx": "+00:00", "Z": "+0000", "z": "UTC", "zzz": "UTC", "VV": "UTC",
    **dict.fromkeys(("Q", "QQ", "QQQ", "QQQQ", "q", "qq", "qqq", "qqqq"), "quarter"),
    **dict.fromkeys(("K", "KK", "k", "kk"), "hour"),
    **dict.fromkeys(("S", "SS", "SSSS", "SSSSS"), "fraction"),
}  # fmt: skip
"""What can be shown, as Polars writes it; a word for what it has no sign for."""

_ONE: Final = "([0-9]{1,2})"
_TWO: Final = "([0-9]{2})"
_READ: Final = {
    "yyyy": "(-?[0-9]{4})", "yy": _TWO, "DDD": "([0-9]{3})", "D": "([0-9]{1,3})",
    "MMMM": f"({'|'.join(_FULL_MONTHS)})",
    "MMM": f"({'|'.join(_MONTHS)})", "MM": _TWO, "M": _ONE, "dd": _TWO, "d": _ONE,
    "HH": _TWO, "H": _ONE, "hh": _TWO, "h": _ONE, "mm": _TWO, "m": _ONE, "ss": _TWO, "s": _ONE,
    **{"S" * n: f"([0-9]{{1,{n}}})" for n in range(1, 10)}, "a": "(AM|PM|am|pm)",
    "XXX": "(Z|[+-][0-9]{2}:[0-9]{2})", "XX": "(Z|[+-][0-9]{4})", "X": "(Z|[+-][0-9]{2}(?:[0-9]{2})?)",
    "xxx": "([+-][0-9]{2}:[0-9]{2})", "xx": "([+-][0-9]{4})", "x": "([+-][0-9]{2}(?:[0-9]{2})?)", "Z": "([+-][0-9]{4})",
}  # fmt: skip
"""What can be read, as a regular expression. A fraction of a second may have fewer digits than the pattern."""

_OPTIONAL: Final = {"[": "(?:", "]": ")?"}
_ZONES: Final = {"x": "X", "Z": "X"}
"""Fields that say the same as another."""

_TOKEN: Final = re.compile(r"([A-Za-z])\1*|'((?:[^']|'')*)'|[^A-Za-z']")


def _tokens(pattern: str, known: dict[str, str]) -> list[tuple[str, bool | None]]:
    """Fields (true), texts (false) and the brackets of optional parts (None) of a pattern."""
    made: list[tuple[str, bool | None]] = []
    at = depth = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is not None and token[0] in "[]":
            depth += 1 if token[0] == "[" else -1
            if depth < 0:
                raise BadArguments(f"the pattern {pattern!r} has a ] without its [")
            made.append((token[0], None))
            at = token.end()
            continue
        if token is None or token[0] in "{}#":
            raise BadArguments(f"the pattern {pattern!r} can't be read at {pattern[at:]!r}")
        at = token.end()
        if token[1]:
            if token[0] not in known:
                raise BadArguments(f"the pattern {pattern!r} has {token[0]}; there are {', '.join(known)}")
            made.append((token[0], True))
        else:
            made.append((token[0] if token[2] is None else (token[2].replace("''", "'") or "'"), False))
    if depth:
        raise BadArguments(f"the pattern {pattern!r} has a [ without its ]")
    return made


def check_shown(pattern: str) -> None:
    """Raise BadArguments unless the pattern can be shown."""
    _tokens(pattern, _SHOWN)


def check_read(pattern: str) -> None:
    """Raise BadArguments unless the pattern can be read."""
    fields = [_ZONES.get(t[0], t[0]) for t, is_field in _tokens(pattern, _READ) if is_field]
    if not fields:
        raise BadArguments(f"the pattern {pattern!r} has no field such as yyyy")
    if len(set(fields)) < len(fields):
        raise BadArguments(f"the pattern {pattern!r} has a field twice")
    if "h" in fields and "a" not in fields:
        raise BadArguments(f"the pattern {pattern!r} has h without a; write H for hours up to 23")
    if "D" in fields and ("M" in fields or "d" in fields or "y" not in fields):
        raise BadArguments(f"the pattern {pattern!r} has the day of a year, which goes with a year and nothing else")


def show(timestamp: pl.Expr, pattern: str) -> pl.Expr:
    """A timestamp by a pattern. What is optional is always there."""
    near = pl.when((calendar.micros(timestamp) // calendar.DAY).is_between(-calendar.FAR, calendar.FAR)).then(timestamp)
    parts: list[pl.Expr] = []
    form = ""
    for token, is_field in _tokens(pattern, _SHOWN):
        said = _SHOWN[token] if is_field else token.replace("%", "%%") if is_field is False else ""
        if is_field and said in _COUNTED:
            parts += [near.dt.to_string(form)] if form else []
            form = ""
            parts.append(_COUNTED[said](near, token))
        else:
            form += said
    parts += [near.dt.to_string(form)] if form else []
    if not parts:
        return pl.when(timestamp.is_not_null()).then(pl.lit(""))
    return pl.concat_str(parts) if len(parts) > 1 else parts[0]


def _quarter(time: pl.Expr, token: str) -> pl.Expr:
    number = time.dt.quarter().cast(pl.Int64)
    if len(token) == 4:
        return (
            number.replace_strict({1: "1st", 2: "2nd", 3: "3rd", 4: "4th"}, default=None, return_dtype=pl.String())
            + " quarter"
        )
    text = number.cast(pl.String())
    return pl.lit("Q") + text if len(token) == 3 else text.str.zfill(len(token))


def _hour(time: pl.Expr, token: str) -> pl.Expr:
    """K counts from 0 to 11, k from 1 to 24."""
    hour = time.dt.hour().cast(pl.Int64)
    number = hour % 12 if token[0] == "K" else (hour + 23) % 24 + 1
    return number.cast(pl.String()).str.zfill(len(token))


def _fraction(time: pl.Expr, token: str) -> pl.Expr:
    kept = calendar.micros(time) % calendar.SECOND // int(10 ** (6 - len(token)))
    return kept.cast(pl.String()).str.zfill(len(token))


_COUNTED: Final[dict[str, Callable[[pl.Expr, str], pl.Expr]]] = {
    "quarter": _quarter,
    "hour": _hour,
    "fraction": _fraction,
}


def read(text: pl.Expr, pattern: str) -> pl.Expr:
    """The timestamp a string says by a pattern, NULL if it isn't written so; parts not given are those of 1970-01-01."""
    return stepwise(lambda series: _read(series, pattern), TIMESTAMP, text)


def _read(text: pl.Series, pattern: str) -> pl.Series:
    tokens = _tokens(pattern, _READ)
    form = "".join(
        _OPTIONAL[t] if is_field is None else _READ[t] if is_field else re.escape(t) for t, is_field in tokens
    )
    part = text.str.extract_groups(f"^({form})$").struct.unnest()
    part.columns = ["whole", *(_ZONES.get(t[0], t[0]) for t, is_field in tokens if is_field)]
    matches = part.get_column("whole").is_not_null()
    part = part.drop("whole")
    names = _FULL_MONTHS if ("MMMM", True) in tokens else _MONTHS if ("MMM", True) in tokens else None
    missing = {"y": 1970, "M": 1, "d": 1, "D": 1, "H": 0, "m": 0, "s": 0, "S": 0, "h": 12}
    # A text that doesn't match has NULL in all its fields; those a pattern leaves out are constant.
    texts = {"a", "X", "M"} if names is not None else {"a", "X"}
    made = part.with_columns(
        parsing.number(c, None, pl.col(c).str.head(6).str.pad_end(6, "0") if c == "S" else None)
        for c in part.columns
        if c not in texts
    )
    made = made.with_columns(pl.lit(v, dtype=BIGINT).alias(c) for c, v in missing.items() if c not in part.columns)
    if "M" in texts:
        assert names is not None
        made = made.with_columns(pl.col("M").replace_strict(names, range(1, 13), default=None, return_dtype=BIGINT))
    if ("yy", True) in tokens:
        made = made.with_columns(pl.col("y") + 2000)
    made = made.with_columns(pl.col(c).fill_null(v) for c, v in missing.items() if c in made.columns)
    hour, valid = pl.col("H"), (pl.col("H") < 24) & (pl.col("m") < 60) & (pl.col("s") < 60)
    if "a" in part.columns:
        hour = pl.col("h") % 12 + 12 * pl.col("a").str.to_lowercase().eq("pm").cast(BIGINT)
        valid = valid & pl.col("h").is_between(1, 12)
    first = calendar.days(pl.col("y"), pl.col("M"), pl.col("d"))
    if "D" in part.columns:
        following = calendar.days(pl.col("y") + 1, pl.col("M"), pl.col("d"))
        valid = valid & pl.col("D").is_between(1, following - first)
        first = first + pl.col("D") - 1
    zone = parsing.offset(pl.col("X")) if "X" in part.columns else pl.lit(0, dtype=BIGINT)
    made = made.with_columns(
        days=first,
        seconds=hour * 3600 + pl.col("m") * 60 + pl.col("s") - zone,
        fraction=pl.col("S"),
    )
    whole = calendar.timestamp(pl.col("days"), pl.col("seconds"), pl.col("fraction"))
    return made.select(pl.when(valid & matches).then(whole)).to_series().alias(text.name)
