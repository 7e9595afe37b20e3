"""Lines over x, one per series, with a dot per row. What is provisional is lighter."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.views.colours import Colours
from jupyter_stream.views.picture import Floats, Layer, Picture, Ragged
from jupyter_stream.views.points import FAINT, LIGHT, SOLID, Points, points, table_of, with_watermark, y_axis
from jupyter_stream.views.roles import Roles

FEW: Final = 45
"""Points of a series up to which its dots are shown; beyond, they are there for the pointer only."""


class Line:
    """A line chart."""

    name: Final = "line"

    def picture(self, snapshot: Snapshot, roles: Roles, colours: Colours) -> Picture:
        """Lines from left to right whatever order the rows came in; NULL leaves a gap."""
        data = points(snapshot, roles, colours)
        assert roles.x is not None
        axis, watermark = with_watermark(data.x_axis, snapshot, roles.x)
        dots = np.bincount(data.series, minlength=max(1, len(data.labels)))[data.series] <= FEW
        dots &= data.named
        marks = Layer(
            "points",
            {"x": data.x, "y": data.y, "row": data.row, "color": data.point_colours(),
             "alpha": np.where(dots, data.alphas(), 0.0)},
        )  # fmt: skip
        return Picture(
            "plot", table_of(snapshot), axis, y_axis(data.y_label, data.y, zero=False), (lines(data), marks), data.legend,
            provisional=data.provisional, watermark=watermark,
        )  # fmt: skip


def lines(data: Points) -> Layer:
    """One solid line per series and, from its last final point on, a light one through the provisional points."""
    xs: list[Floats] = []
    ys: list[Floats] = []
    colour: list[str] = []
    alpha: list[float] = []
    order = np.lexsort((data.x, data.series))
    starts = np.searchsorted(data.series[order], np.arange(len(data.labels) + 1))
    for s in sorted(range(len(data.labels)), key=lambda s: data.labels[s] in data.slots):  # the named ones on top
        of_series = order[starts[s] : starts[s + 1]]
        strength = 1.0 if data.labels[s] in data.slots else FAINT
        for chosen, opacity in _solid_and_light(of_series, data.final):
            xs.append(data.x[chosen])
            ys.append(data.y[chosen])
            colour.append(data.colour(s))
            alpha.append(opacity * strength)
    return Layer(
        "lines", {"xs": Ragged.of(xs), "ys": Ragged.of(ys), "color": colour, "alpha": np.array(alpha, dtype=np.float64)}
    )


def _solid_and_light(order: NDArray[np.int64], final: NDArray[np.bool_]) -> list[tuple[NDArray[np.int64], float]]:
    solid = order[final[order]]
    if len(solid) == len(order):
        return [(solid, SOLID)]
    light = order[~final[order]]
    parts = [(solid, SOLID)] if len(solid) else []
    return [*parts, (np.concatenate((solid[-1:], light)), LIGHT)]
