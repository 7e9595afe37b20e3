"""Numbers, sizes, times and cells as people read them. Not for HTML: whoever writes markup escapes these."""

from __future__ import annotations

import datetime as dt
import math
from typing import Final

import polars as pl

from jupyter_stream.core.far import shown, tame
from jupyter_stream.core.time import MAX_TIME, MIN_TIME, show, show_span

_STEPS: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k"))
_BYTES: Final = ("B", "kB", "MB", "GB", "TB")
_DAY: Final = 86_400_000_000
LONGEST_CELL: Final = 200
"""Characters of a text shown in a cell; longer ones are cut, or one row could fill the message limit."""


def count(value: float) -> str:
    """A number with three figures: `318`, `9,990`, `12.3 k`, `1.20 M`."""
    for size, letter in _STEPS:
        if abs(value) >= size:
            scaled = value / (1e3 if letter == "k" else size)
            return f"{scaled:.{max(0, 2 - int(math.log10(abs(scaled))))}f} {letter}"
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 100 else f"{value:.1f}"


def size(value: float) -> str:
    """Bytes: `812 B`, `1.4 MB`."""
    step = 0
    while value >= 1000 and step < len(_BYTES) - 1:
        value, step = value / 1000, step + 1
    return f"{value:.0f} {_BYTES[step]}" if step == 0 or value >= 100 else f"{value:.1f} {_BYTES[step]}"


def clock(micros: int, beside: int | None = None) -> str:
    """A stream time: only the time of day where `beside`, the time it is shown with, is on the same day."""
    if micros in (MIN_TIME, MAX_TIME):
        return show(micros)
    text = show(micros)
    if beside is not None and beside not in (MIN_TIME, MAX_TIME) and micros // _DAY == beside // _DAY:
        text = text[11:]
    head, dot, fraction = text.partition(".")
    return head + (dot + fraction[:3] if dot else "")


def wall(seconds: float) -> str:
    """A wall-clock time of day in this machine's zone."""
    return dt.datetime.fromtimestamp(seconds).strftime("%H:%M:%S")


_SI: Final = ((1e15, "P"), (1e12, "T"), (1e9, "G"))


def amount(value: float | int | None) -> str:
    """One value large in a tile: in full up to nine digits, beyond with a unit, `12.35 G`, so that it stays on a line."""
    for size, letter in _SI:
        if value is not None and math.isfinite(value) and size <= abs(value) < 1e18:
            return f"{value / size:,.4g} {letter}"
    return number(value)


def moment(seconds: float) -> str:
    """The same with the day."""
    return dt.datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")


def number(value: float | int | None) -> str:
    """One value, in full but without noise: `1,234.5`, `0.000123`."""
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return f"{value:,}"
    if math.isnan(value) or math.isinf(value):
        return str(value)
    if value and (abs(value) >= 1e15 or abs(value) < 1e-4):
        return f"{value:.5g}"
    figures = max(0, 5 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{min(figures, 8)}f}".rstrip("0").rstrip(".") if figures else f"{value:,.0f}"


def ends(low: float, high: float) -> tuple[str, str]:
    """Both ends of a range, no finer than tells them apart: a thousandth of what lies between."""
    if not (math.isfinite(low) and math.isfinite(high)) or low == high:
        return number(low), number(high)
    places = 2 - math.floor(math.log10(high - low))
    return number(round(low, places)), number(round(high, places))


def cells(series: pl.Series) -> list[str]:
    """A column as text, vectorised: a frame is formatted up to eight times a second."""
    dtype = series.dtype
    if dtype == pl.Datetime or dtype == pl.Time:
        micros = (
            series.cast(pl.Datetime("us")).cast(pl.Int64) if dtype == pl.Datetime else series.cast(pl.Int64) // 1000
        )
        whole = bool((micros % 1_000_000 == 0).all())
        clock = "%H:%M:%S" if whole else "%T%.3f"
        text = shown(series, f"%Y-%m-%d {clock}") if dtype == pl.Datetime else series.dt.to_string(clock)
    elif dtype == pl.Date:
        text = shown(series, "%Y-%m-%d")
    elif dtype.is_float():
        text = series.round_sig_figs(6).cast(pl.String)
    elif dtype == pl.Duration:
        return [NULL if v is None else show_span(v) for v in series.cast(pl.Duration("us")).cast(pl.Int64).to_list()]
    elif dtype.is_nested():
        return [NULL if v is None else _nested(v) for v in tame(series).to_list()]
    elif dtype == pl.Binary:
        text = series.bin.encode("hex")
    elif dtype == pl.Object:
        return [NULL if v is None else str(v)[:LONGEST_CELL] for v in series.to_list()]
    else:
        text = series.cast(pl.String)
    if dtype in (pl.String, pl.Binary):
        text = text.str.slice(0, LONGEST_CELL)
    return text.fill_null(NULL).to_list()


NULL: Final = "NULL"
"""How a missing value is shown."""


def _nested(value: object) -> str:
    if isinstance(value, pl.Series):
        value = value.to_list()
    return str(value)[:LONGEST_CELL]
