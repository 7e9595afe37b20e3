"""Areas under lines: one down to zero, several on top of one another."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.views.colours import Colours
from jupyter_stream.views.fill import Fill
from jupyter_stream.views.line import Line, broken, marks
from jupyter_stream.views.line_order import by_series
from jupyter_stream.views.picture import Axis, Floats, Layer, Picture, Ragged
from jupyter_stream.views.points import FAINT, LIGHT, SOLID, Points, points, y_axis
from jupyter_stream.views.roles import Roles


class Area:
    """An area chart."""

    name: Final = "area"

    def picture(self, snapshot: Snapshot, roles: Roles, colours: Colours) -> Picture:
        """The line chart's picture with what is below the lines filled; several series are stacked, unless one is below zero."""
        line = Line().picture(snapshot, roles, colours)
        assert line.y is not None
        data = points(snapshot, roles, colours)
        if len(data.labels) > 1 and not np.any(data.y < 0):
            return _stacked(line, data)
        drawn = line.layers[-2].columns
        xs, ys = drawn["xs"], drawn["ys"]
        assert isinstance(xs, Ragged) and isinstance(ys, Ragged)
        shades, alphas = drawn["color"], drawn["alpha"]
        assert isinstance(alphas, np.ndarray) and isinstance(shades, list)
        fill = Fill()
        for x, y, colour, alpha in zip(xs.arrays(), ys.arrays(), shades, alphas, strict=True):
            fill.add(x, np.zeros(len(y)), y, colour, float(alpha))
        y_axis = Axis(line.y.label, "number", min(0.0, line.y.low), max(0.0, line.y.high))
        return replace(line, y=y_axis, layers=(fill.layer(), *line.layers[-2:]))


def _stacked(line: Picture, data: Points) -> Picture:
    """Series on top of one another, the first of the legend at the bottom."""
    kept = ~data.beyond & np.isfinite(data.x)
    grid = np.unique(data.x[kept])
    order, starts = by_series(data)
    first_light = np.min(data.x[kept & ~data.final], initial=np.inf)
    below, fill, tops = np.zeros(len(grid)), Fill(), data.y.copy()
    xs: list[Floats] = []
    ys: list[Floats] = []
    colours: list[str] = []
    alphas: list[float] = []
    for s in sorted(range(len(data.labels)), key=lambda s: data.slots.get(data.labels[s], len(data.labels) + s)):
        at = order[starts[s] : starts[s + 1]]
        at = at[kept[at] & np.isfinite(data.y[at])]
        above = below + _heights(grid, data.x[at], data.y[at], zero=data.gap is not None)
        if len(at):
            tops[at] = above[np.searchsorted(grid, data.x[at])]
        strength = 1.0 if data.labels[s] in data.slots else FAINT
        for part, opacity in _parts(grid, first_light):
            x, high = broken(grid[part], above[part], data.gap)
            _, low = broken(grid[part], below[part], data.gap)
            fill.add(x, low, high, data.colour(s), opacity * strength)
            xs.append(x)
            ys.append(high)
            colours.append(data.colour(s))
            alphas.append(opacity * strength)
        below = above
    tops[~kept] = np.nan  # they stand on nothing
    edge = Layer(
        "lines",
        {"xs": Ragged.of(xs), "ys": Ragged.of(ys), "color": colours, "alpha": np.array(alphas, dtype=np.float64)},
    )
    y = y_axis(data, np.concatenate((below, tops)), zero=True)
    return replace(line, y=y, layers=(fill.layer(), edge, marks(data, tops)))


def _heights(grid: Floats, x: Floats, y: Floats, *, zero: bool) -> Floats:
    """A series at every place of the grid: where it has no window it is zero; between two rows at any time it is between them."""
    if not len(x):
        return np.zeros(len(grid))
    if not zero:
        return np.interp(grid, x, y, left=0.0, right=0.0)
    found = np.zeros(len(grid))
    found[np.searchsorted(grid, x)] = y
    return found


def _parts(grid: Floats, first_light: float) -> list[tuple[NDArray[np.int64], float]]:
    """The solid part of the grid, and the light one that goes on from it."""
    cut = int(np.searchsorted(grid, first_light))
    all_ = np.arange(len(grid))
    parts = [(all_[:cut], SOLID)] if cut else []
    return parts if cut == len(grid) else [*parts, (all_[max(0, cut - 1) :], LIGHT)]
