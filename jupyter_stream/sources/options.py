"""Reading WITH options and naming the nearest right one. Not for what an option does: that is the connector's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl

from jupyter_stream.core.suggest import nearest
from jupyter_stream.core.time import parse_duration
from jupyter_stream.errors import SourceError

GENERAL = {
    "slack": "how many newer rows may come before a row: '10 rows'",
    "punctuation": "the column with promised times: a row that has one is a punctuation, no data",
    "punctuation_key": "the column with the key that a punctuation is for",
    "ahead": "how far the time of a row may be ahead: '5 minutes', '1 day', or 'off'",
    "timestamp_format": "how times are written in texts: 'yyyy-MM-dd HH:mm:ss', 'dd.MM.yyyy HH:mm'",
    "idle_timeout": "after how long without rows the clock moves a live source on: '2 seconds'",
    "progress": "when the clock moves a stream on that has no rows: 'on demand' (by default), 'periodic 100 ms' or 'none'",
    "skew": "how far the source's clock may be behind ours: '1 second'",
    "seed": "the number that random choices start from: the same number, the same choices",
    "time": "'latent' if no TIMESTAMP column is the time of the rows: rows then have the time they arrive",
    "rate": "how fast a replay goes: '1000/s', 'event time', 'event time x60' or 'max'",
}
"""Options every source takes; what they mean is the engine's business."""

_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0")


def did_you_mean(name: str, candidates: Iterable[str], fallback: str = "") -> str:
    """`Did you mean 'x'?` where there is such an x, else what `fallback` says."""
    near = nearest(name, candidates)
    return f"Did you mean '{near}'?" if near is not None else fallback


def check_known(given: Iterable[str], known: Iterable[str], where: str) -> None:
    """Refuse an option nobody knows.

    Raises:
        SourceError: naming the nearest one that exists.
    """
    names = tuple(known)
    for option in given:
        if option.lower() not in names:
            exist = "Options here: " + ", ".join(sorted(names)) + "."
            raise SourceError(f"{where} has no option '{option}'.", hint=did_you_mean(option, names, exist)).about(
                option
            )


def split_query(path: str) -> tuple[str, dict[str, str]]:
    """`packets?rows=10&seed=1` as `packets` and its options, names in lower case."""
    head, _, query = path.partition("?")
    return head.strip("/"), {name.lower(): value for name, value in parse_qsl(query, keep_blank_values=True)}


def flag(options: Mapping[str, str], name: str, default: bool = False) -> bool:
    """A yes-or-no option."""
    text = options.get(name)
    if text is None:
        return default
    if text.strip().lower() in _TRUE:
        return True
    if text.strip().lower() in _FALSE:
        return False
    raise SourceError(f"Option {name} = '{text}' is neither true nor false.", hint=f"Write {name} = 'true'.").about(
        name
    )


def choice(options: Mapping[str, str], name: str, choices: Iterable[str], default: str) -> str:
    """An option with a few possible values."""
    text = options.get(name, default).strip().lower()
    allowed = tuple(choices)
    if text in allowed:
        return text
    exist = f"It can be {', '.join(repr(c) for c in allowed)}."
    raise SourceError(f"Option {name} can't be '{text}'.", hint=did_you_mean(text, allowed, exist)).about(name)


def whole(options: Mapping[str, str], name: str, default: int, least: int = 0) -> int:
    """A whole number; thousands may be set apart with `_` or `,`."""
    text = options.get(name)
    if text is None:
        return default
    try:
        value = int(text.replace("_", "").replace(",", "").strip())
    except ValueError:
        value = least - 1
    if value < least:
        raise SourceError(
            f"Option {name} = '{text}' must be a whole number of at least {least}.", hint=f"Write {name} = '1000'."
        ).about(name)
    return value


def number(options: Mapping[str, str], name: str, default: float, least: float = 0.0) -> float:
    """A number, fractions allowed."""
    text = options.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not value >= least:
        raise SourceError(
            f"Option {name} = '{text}' must be a number of at least {least:g}.", hint=f"Write {name} = '1.5'."
        ).about(name)
    return value


def duration(options: Mapping[str, str], name: str, default: int) -> int:
    """A duration such as `'2 seconds'`, in microseconds."""
    text = options.get(name)
    if text is None:
        return default
    value = parse_duration(text)
    if value is None:
        raise SourceError(
            f"Option {name} = '{text}' is not a length of time.", hint=f"Write {name} = '2 seconds'."
        ).about(name)
    return value
