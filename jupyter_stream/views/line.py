"""Lines over x, one per series, with a dot per row. What is provisional is lighter, and gaps stay gaps."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.views.band import band, errors_of, limits
from jupyter_stream.views.colours import Colours
from jupyter_stream.views.line_order import by_series
from jupyter_stream.views.picture import Floats, Layer, Picture, Ragged
from jupyter_stream.views.points import FAINT, LIGHT, SOLID, Points, points, table_of, with_watermark, y_axis
from jupyter_stream.views.roles import Roles

FEW: Final = 45
"""Points of a series up to which its dots are shown; beyond, they are there for the pointer only."""


class Line:
    """A line chart."""

    name: Final = "line"

    def picture(self, snapshot: Snapshot, roles: Roles, colours: Colours) -> Picture:
        """Lines from left to right whatever order the rows came in; NULL leaves a gap, and so does a time without windows."""
        data = points(snapshot, roles, colours)
        assert roles.x is not None
        axis, watermark = with_watermark(data.x_axis, snapshot, roles.x)
        errors = errors_of(snapshot, roles)
        bands = () if errors is None else (band(data, errors),)
        high = data.y if errors is None else np.concatenate(limits(data.y, errors))
        return Picture(
            "plot", table_of(snapshot), axis, y_axis(data, high, zero=False),
            (*bands, lines(data), marks(data, data.y)), data.legend,
            provisional=data.provisional, watermark=watermark, beyond=bool(data.beyond.any()),
        )  # fmt: skip


def marks(data: Points, y: Floats) -> Layer:
    """A dot per row: seen where there are few of them, and where no line goes through it."""
    dots = np.bincount(data.series, minlength=max(1, len(data.labels)))[data.series] <= FEW
    dots |= data.beyond | _alone(data)
    dots &= data.named
    return Layer(
        "points",
        {
            "x": data.x,
            "y": y,
            "row": data.row,
            "color": data.point_colours(),
            "alpha": np.where(dots, data.alphas(), 0.0),
        },
    )


def lines(data: Points) -> Layer:
    """One solid line per series and, from its last final point on, a light one through the provisional points."""
    xs: list[Floats] = []
    ys: list[Floats] = []
    colour: list[str] = []
    alpha: list[float] = []
    order, starts = by_series(data)
    for s in sorted(range(len(data.labels)), key=lambda s: data.labels[s] in data.slots):  # the named ones on top
        of_series = order[starts[s] : starts[s + 1]]
        of_series = of_series[~data.beyond[of_series]]
        strength = 1.0 if data.labels[s] in data.slots else FAINT
        for chosen, opacity in _solid_and_light(of_series, data.final):
            x, y = broken(data.x[chosen], data.y[chosen], data.gap)
            xs.append(x)
            ys.append(y)
            colour.append(data.colour(s))
            alpha.append(opacity * strength)
    return Layer(
        "lines", {"xs": Ragged.of(xs), "ys": Ragged.of(ys), "color": colour, "alpha": np.array(alpha, dtype=np.float64)}
    )


def broken(x: Floats, y: Floats, gap: float | None) -> tuple[Floats, Floats]:
    """A line through points from left to right, broken where two are further apart than the gap."""
    if gap is None or len(x) < 2:
        return x, y
    at = np.flatnonzero(np.diff(x) > gap) + 1
    return np.insert(x, at, np.nan), np.insert(y, at, np.nan)


def _alone(data: Points) -> NDArray[np.bool_]:
    """Which points no line goes through, since those on both sides are too far."""
    if data.gap is None:
        return np.zeros(len(data.x), np.bool_)
    order, _ = by_series(data)
    far = (np.diff(data.x[order]) > data.gap) | (np.diff(data.series[order]) != 0)
    found = np.zeros(len(data.x), np.bool_)
    ends = np.ones(1, np.bool_)
    found[order] = np.concatenate((ends, far)) & np.concatenate((far, ends))
    return found


def _solid_and_light(order: NDArray[np.int64], final: NDArray[np.bool_]) -> list[tuple[NDArray[np.int64], float]]:
    solid = order[final[order]]
    if len(solid) == len(order):
        return [(solid, SOLID)]
    light = order[~final[order]]
    parts = [(solid, SOLID)] if len(solid) else []
    return [*parts, (np.concatenate((solid[-1:], light)), LIGHT)]
