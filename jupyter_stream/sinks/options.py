"""Reading WITH options of sinks and naming the nearest right one. Not for what an option does: that is the connector's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import parse_qsl

from jupyter_stream.core.suggest import nearest
from jupyter_stream.core.time import parse_duration
from jupyter_stream.errors import SinkError

GENERAL: Final = {
    "mode": "how answers are written: 'append', 'upsert', 'changes' or 'replace'",
    "key": "the columns that tell rows apart, for mode = 'upsert': 'ip' or 'ip, day'",
    "commit_every": "time between commits: '10 seconds' by default; another comes at the end",
    "provisional": "'true' to write provisional answers too, with the column is_final",
}
"""Options every sink takes."""

_TRUE: Final = ("true", "yes", "on", "1")
_FALSE: Final = ("false", "no", "off", "0")


def did_you_mean(name: str, candidates: Iterable[str], fallback: str = "") -> str:
    """`Did you mean 'x'?` where there is such an x, else what `fallback` says."""
    near = nearest(name, candidates)
    return f"Did you mean '{near}'?" if near is not None else fallback


def of_uri(uri: str) -> dict[str, str]:
    """The options behind `?` in a URI, names in lower case."""
    return {name.lower(): value for name, value in parse_qsl(uri.partition("?")[2], keep_blank_values=True)}


def check_known(given: Iterable[str], known: Iterable[str], where: str) -> None:
    """Refuse an option nobody knows. Raises `SinkError`, naming the nearest one that exists."""
    names = tuple(known)
    for option in given:
        if option not in names:
            exist = "Options here: " + ", ".join(sorted(names)) + "."
            raise SinkError(f"{where} has no option '{option}'.", hint=did_you_mean(option, names, exist)).about(option)


def flag(options: Mapping[str, str], name: str) -> bool:
    """A yes-or-no option; no where it isn't said. Raises `SinkError` where it is neither."""
    text = options.get(name, "false").strip().lower()
    if text not in (*_TRUE, *_FALSE):
        raise SinkError(
            f"Option {name} = '{options[name]}' is neither true nor false.", hint=f"Write {name} = 'true'."
        ).about(name)
    return text in _TRUE


def choice(options: Mapping[str, str], name: str, choices: Iterable[str], default: str) -> str:
    """An option with a few possible values. Raises `SinkError` where it is none of them."""
    text = options.get(name, default).strip().lower()
    allowed = tuple(choices)
    if text in allowed:
        return text
    exist = f"It can be {', '.join(repr(c) for c in allowed)}."
    raise SinkError(f"Option {name} can't be '{options[name]}'.", hint=did_you_mean(text, allowed, exist)).about(name)


def whole(options: Mapping[str, str], name: str, default: int, least: int = 0) -> int:
    """A whole number; thousands may be set apart with `_` or `,`. Raises `SinkError` where it is none, or too small."""
    text = options.get(name)
    if text is None:
        return default
    digits = text.replace("_", "").replace(",", "").strip()
    if not digits.isdecimal() or int(digits) < least:
        raise SinkError(
            f"Option {name} = '{text}' must be a whole number of at least {least}.", hint=f"Write {name} = '1000'."
        ).about(name)
    return int(digits)


def seconds(options: Mapping[str, str], name: str, default: float) -> float:
    """A length of time such as `'10 seconds'`, in seconds. Raises `SinkError` where it is none."""
    text = options.get(name)
    if text is None:
        return default
    value = parse_duration(text)
    if value is None or value <= 0:
        raise SinkError(
            f"Option {name} = '{text}' is not a length of time.", hint=f"Write {name} = '10 seconds'."
        ).about(name)
    return value / 1e6


def columns(options: Mapping[str, str], name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Columns, with commas between them, in the spelling they have. Raises `SinkError` where there is no such column."""
    by_lower = {c.lower(): c for c in known}
    found: list[str] = []
    for word in filter(None, (w.strip() for w in options.get(name, "").split(","))):
        column = by_lower.get(word.lower())
        if column is None:
            exist = f"The columns are {', '.join(by_lower.values())}."
            raise SinkError(
                f"Option {name} names a column '{word}', which the answer doesn't have.",
                hint=did_you_mean(word, by_lower.values(), exist),
            ).about(name)
        if column not in found:
            found.append(column)
    return tuple(found)


__all__ = ["GENERAL", "check_known", "choice", "columns", "did_you_mean", "flag", "of_uri", "seconds", "whole"]
