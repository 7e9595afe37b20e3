"""A snapshot as arrays ready to draw: x and y as floats, series as labels, provisional or not. Not for shapes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.views import words
from jupyter_stream.views.colours import OTHERS, PALETTE, Colours, legend
from jupyter_stream.views.picture import Axis, Floats, Table
from jupyter_stream.views.roles import Roles
from jupyter_stream.views.strip import ENDED

LIGHT = 0.38
"""Opacity of what is provisional."""
SOLID = 1.0
FAINT = 0.35
"""Opacity of series without a colour of their own."""
LONGEST_LABEL = 24
_UNIT_WORDS = {"%": ("percent", "pct", "percentage"), "s": ("seconds", "second", "sec"), "°C": ("celsius",)}
"""Words of a column's name that say its unit."""
_APART = 3.0 + 1e-6
"""Slides between two points that a line still joins."""
_NEARLY = 0.1
"""Part of a slide that may be missing from the last window: rows come a little apart."""


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Points of a chart in row order; with several y columns, one block of rows after another.

    Attributes:
        x: positions (milliseconds for times, i + 0.5 for category i).
        y: values, NaN for NULL.
        row: for each point the index of its row.
        series: for each point the number of its series.
        labels: the series.
        slots: palette slots of the series that have one, by label.
        final: for each point whether it is final.
        beyond: for each point whether its window reaches past the end of the data.
        gap: how far apart on x two points of a series may be that a line joins; None for as far as they are.
        x_axis: the axis, its range fitting the points.
        y_label: the word for y.
        percent: whether y is in percent.
    """

    x: Floats
    y: Floats
    row: Floats
    series: NDArray[np.int64]
    labels: tuple[str, ...]
    slots: dict[str, int]
    final: NDArray[np.bool_]
    beyond: NDArray[np.bool_]
    gap: float | None
    x_axis: Axis
    y_label: str
    percent: bool

    def colour(self, series: int) -> str:
        """The colour of a series."""
        slot = self.slots.get(self.labels[series])
        return OTHERS if slot is None else PALETTE[slot]

    def point_colours(self) -> list[str]:
        """The colour of each point."""
        by_series = [self.colour(s) for s in range(len(self.labels))]
        return [by_series[s] for s in self.series]

    def alphas(self) -> Floats:
        """The opacity of each point."""
        return np.where(self.whole, SOLID, LIGHT) * np.where(self.named, 1.0, FAINT)

    @property
    def named(self) -> NDArray[np.bool_]:
        """For each point whether its series has a colour of its own."""
        return np.array([label in self.slots for label in self.labels], dtype=bool)[self.series]

    @property
    def whole(self) -> NDArray[np.bool_]:
        """For each point whether it is final, and of a window that the data fill."""
        found: NDArray[np.bool_] = self.final & ~self.beyond
        return found

    @property
    def provisional(self) -> bool:
        """Whether any point is not final."""
        return not bool(self.final.all())

    @property
    def legend(self) -> tuple[tuple[str, str], ...]:
        """(label, colour) pairs; none where there is one series only."""
        return legend(self.slots, self.labels) if len(self.labels) > 1 else ()


def points(snapshot: Snapshot, roles: Roles, colours: Colours, *, by_category: bool = False) -> Points:
    """The points of a snapshot whose roles have an x and at least one y.

    Args:
        snapshot: the query.
        roles: who plays what.
        colours: the query's colours, the same in all its views.
        by_category: whether numbers on x are names (a key of small integers) and not amounts.
    """
    frame = snapshot.rows
    assert roles.x is not None and roles.y
    height = frame.height
    final = snapshot.final.to_numpy().astype(bool) if len(snapshot.final) == height else np.ones(height, bool)
    x, axis = _axis(frame.get_column(roles.x), roles.x, snapshot, by_category)
    ys = [floats(frame.get_column(name)) for name in roles.y]
    if roles.by is None:
        labels: tuple[str, ...] = roles.y
        codes = np.repeat(np.arange(len(roles.y)), height)
    else:
        keys = pl.Series(words.cells(frame.get_column(roles.by)), dtype=pl.String)
        groups = tuple(keys.unique(maintain_order=True).to_list())
        number = {g: i for i, g in enumerate(groups)}
        base = np.fromiter((number[k] for k in keys), np.int64, height)
        several = len(roles.y) > 1
        labels = tuple(f"{g} · {name}" if several else g for name in roles.y for g in groups)
        codes = np.concatenate([base + i * len(groups) for i in range(len(roles.y))])
    y = np.concatenate(ys)
    weight = np.bincount(codes, np.abs(np.nan_to_num(y)), len(labels)) if labels else np.empty(0)
    slots = colours.assign({label: float(w) for label, w in zip(labels, weight, strict=True)}, roles.by)
    times = len(roles.y)
    return Points(
        np.tile(x, times), y, np.tile(np.arange(height, dtype=np.float64), times), codes.astype(np.int64), labels, slots,
        np.tile(final, times), np.tile(beyond(frame, snapshot, roles.x), times), _gap(axis, snapshot, roles.x), axis,
        " / ".join(label_of(name, snapshot, frame) for name in roles.y), in_percent(roles.y, snapshot),
    )  # fmt: skip


def beyond(frame: pl.DataFrame, snapshot: Snapshot, x: str | None) -> NDArray[np.bool_]:
    """Which rows are of windows that the data didn't fill: those behind the end of a replay, or across it; x is their time."""
    if snapshot.slide is None or snapshot.state != "finished" or x is None or x != snapshot.time_column:
        return np.zeros(frame.height, np.bool_)
    ends = micros(frame.get_column(x))
    return (ends > snapshot.max_event_time + _NEARLY * snapshot.slide).fill_null(False).to_numpy()


def filled(snapshot: Snapshot) -> Snapshot:
    """Without the last windows of an ended replay, which the data didn't fill; with them where there are no others."""
    time = snapshot.time_column if snapshot.time_column in snapshot.rows.columns else None
    kept = pl.Series(~beyond(snapshot.rows, snapshot, time))
    if kept.all() or not kept.any():
        return snapshot
    final = snapshot.final.filter(kept) if len(snapshot.final) == len(kept) else snapshot.final
    return dataclasses.replace(snapshot, rows=snapshot.rows.filter(kept), final=final)


def _alone(name: str, snapshot: Snapshot) -> float:
    """Milliseconds around a single time: a slide, so that the ticks are no finer than the answers."""
    return 1000.0 if snapshot.slide is None or name != snapshot.time_column else max(1.0, snapshot.slide / 1e3)


def _gap(axis: Axis, snapshot: Snapshot, x: str) -> float | None:
    if snapshot.slide is None or x != snapshot.time_column or axis.kind == "category":
        return None
    return _APART * snapshot.slide / (1e3 if axis.kind == "time" else 1.0)


def micros(times: pl.Series) -> pl.Series:
    """A column of times as microseconds."""
    return (times.cast(pl.Datetime("us")) if times.dtype.is_temporal() else times).cast(pl.Int64)


def floats(series: pl.Series) -> Floats:
    """A column as floats: times in milliseconds, durations in seconds, NULL as NaN."""
    if series.dtype == pl.Duration:
        return series.cast(pl.Duration("us")).cast(pl.Int64).cast(pl.Float64).fill_null(np.nan).to_numpy() / 1e6
    if series.dtype in (pl.Datetime, pl.Date):
        return series.cast(pl.Datetime("us")).cast(pl.Int64).cast(pl.Float64).fill_null(np.nan).to_numpy() / 1e3
    return series.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()


def label_of(name: str, snapshot: Snapshot, frame: pl.DataFrame) -> str:
    """A column's word on an axis: its name, and its unit where known."""
    unit = snapshot.units.get(name)
    if unit is None and name in frame.columns and frame.schema[name] == pl.Duration:
        unit = "s"
    if unit is None or not {unit.lower(), *_UNIT_WORDS.get(unit, ())}.isdisjoint(name.lower().split("_")):
        return name  # "bytes (bytes)" says it twice, and so does "percent (%)"
    return f"{name} ({unit})"


def in_percent(names: tuple[str, ...], snapshot: Snapshot) -> bool:
    """Whether all of these columns are percentages."""
    return bool(names) and all(snapshot.units.get(name) == "%" for name in names)


def _axis(series: pl.Series, name: str, snapshot: Snapshot, by_category: bool) -> tuple[Floats, Axis]:
    label = label_of(name, snapshot, snapshot.rows)
    time = series.dtype in (pl.Datetime, pl.Date)
    if time or (not by_category and (series.dtype.is_numeric() or series.dtype == pl.Duration)):
        x = floats(series)
        low, high = extent(x)
        air = (high - low) * 0.012 or (_alone(name, snapshot) if time else 1.0)
        low, high = low - air, high + air
        return x, Axis(f"{label} (UTC)" if time else label, "time" if time else "number", low, high)
    order = list(dict.fromkeys(words.cells(series))) if snapshot.ordered else categories(series)
    position = {text: i + 0.5 for i, text in enumerate(order)}
    at = np.array([position[text] for text in words.cells(series)], dtype=np.float64)
    return at, Axis(label, "category", 0, max(1, len(order)), short(order))


def categories(series: pl.Series) -> list[str]:
    """The distinct values of a column as text, in the order of the values: 2 before 10."""
    distinct = series.unique()
    if not (distinct.dtype.is_nested() or distinct.dtype == pl.Object):
        distinct = distinct.sort()
    return list(dict.fromkeys(words.cells(distinct)))


def short(labels: list[str]) -> tuple[str, ...]:
    """Labels that fit under an axis, still distinct: an axis takes no label twice."""
    seen: dict[str, int] = {}
    out = []
    for label in labels:
        cut = label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"
        seen[cut] = seen.get(cut, 0) + 1
        out.append(cut if seen[cut] == 1 else f"{cut} ({seen[cut]})")
    return tuple(out)


def extent(values: Floats) -> tuple[float, float]:
    """Smallest and largest finite value; (0, 1) where there is none."""
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)


def y_axis(data: Points, values: Floats, *, zero: bool) -> Axis:
    """An axis that fits the values with a little air, from zero where asked or where zero is near; percentages show 0 to 100.

    Args:
        data: whose axis it is.
        values: what has to fit.
        zero: whether it begins at zero.
    """
    label = data.y_label
    low, high = extent(values)
    if data.percent and low >= 0 and high <= 100:
        return Axis(label, "number", 0.0, 104.0)
    if zero or (0 < low <= 0.4 * high):
        low = min(low, 0.0)
    if zero or (high < 0 and high >= 0.4 * low):
        high = max(high, 0.0)
    air = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return Axis(label, "number", low if low == 0 else low - air, high if high == 0 else high + air)


def with_watermark(axis: Axis, snapshot: Snapshot, column: str) -> tuple[Axis, float | None]:
    """The time axis, a little longer where the low-watermark stands beyond it, and where it stands; None once all is final."""
    mark = snapshot.low_watermark
    if snapshot.state in ENDED or axis.kind != "time" or column != snapshot.time_column or mark in (MIN_TIME, MAX_TIME):
        return axis, None
    at = mark / 1e3
    width = axis.high - axis.low
    if not axis.low <= at <= axis.high + 0.25 * width:
        return axis, None
    return Axis(axis.label, axis.kind, axis.low, max(axis.high, at + 0.012 * width)), at


def table_of(snapshot: Snapshot, rows: pl.DataFrame | None = None, final: pl.Series | None = None) -> Table:
    """Rows as text."""
    frame = snapshot.rows if rows is None else rows
    marks = snapshot.final if final is None else final
    light = tuple(not f for f in marks.to_list()) if len(marks) == frame.height else (False,) * frame.height
    return Table(
        tuple(frame.columns),
        tuple(words.cells(column) for column in frame.get_columns()),
        tuple(dtype.is_numeric() for dtype in frame.dtypes),
        light,
        frame,
    )
