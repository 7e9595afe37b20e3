"""A cell per x and series, coloured by value: for many series over time."""

from __future__ import annotations

from typing import Final

import numpy as np
from bokeh.palettes import cividis
from numpy.typing import NDArray

from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.views import words
from jupyter_stream.views.bar import step
from jupyter_stream.views.colours import Colours
from jupyter_stream.views.picture import Axis, Floats, Layer, Picture, Scale
from jupyter_stream.views.points import (
    LIGHT,
    SOLID,
    categories,
    extent,
    label_of,
    points,
    short,
    table_of,
    with_watermark,
)
from jupyter_stream.views.roles import Roles

MOST_SERIES: Final = 40
SHADES: Final = tuple(cividis(64))
"""Made for any colour vision; even steps of lightness."""


class Heatmap:
    """A heat map."""

    name: Final = "heatmap"

    def picture(self, snapshot: Snapshot, roles: Roles, colours: Colours) -> Picture:
        """Cells; where two rows meet in one cell it shows the newer."""
        assert roles.x is not None and roles.by is not None
        data = points(snapshot, Roles(roles.chart, roles.x, roles.y[:1], roles.by), colours)
        ordered = categories(snapshot.rows.get_column(roles.by))
        shown = ordered[:MOST_SERIES]
        place = {label: i for i, label in enumerate(reversed(shown))}
        level = np.array([place.get(label, -1) for label in data.labels], dtype=np.float64)[data.series]
        kept = (level >= 0) & np.isfinite(data.y)
        kept[kept] = _newest(data.x[kept], level[kept])
        x, y, level = data.x[kept], data.y[kept], level[kept]
        width = 1.0 if data.x_axis.kind == "category" else step(data.x)
        low, high = extent(y)
        shade = np.nan_to_num((y - low) / ((high - low) or 1.0) * (len(SHADES) - 1)).astype(np.int64)
        axis, watermark = with_watermark(data.x_axis, snapshot, roles.x)
        if axis.kind != "category":
            axis = Axis(axis.label, axis.kind, axis.low - width / 2, axis.high + width / 2)
        boxes = Layer(
            "boxes",
            {"left": x - width / 2, "right": x + width / 2, "bottom": level + 0.02, "top": level + 0.98,
             "row": data.row[kept], "color": [SHADES[s] for s in shade], "alpha": np.where(data.whole, SOLID, LIGHT)[kept]},
        )  # fmt: skip
        name = label_of(roles.y[0], snapshot, snapshot.rows)
        scale = Scale(name, *words.ends(low, high), SHADES[::9]) if len(y) else None
        note = f"{MOST_SERIES} of {len(ordered):,} rows of cells" if len(ordered) > MOST_SERIES else None
        y_axis = Axis(
            label_of(roles.by, snapshot, snapshot.rows), "category", 0, max(1, len(shown)), short(shown[::-1])
        )
        return Picture(
            "plot",
            table_of(snapshot),
            axis,
            y_axis,
            (boxes,),
            (),
            data.provisional,
            watermark,
            note,
            scale=scale,
            beyond=bool(data.beyond.any()),
        )


def _newest(x: Floats, level: Floats) -> NDArray[np.bool_]:
    """Which are the last of their cell."""
    cells = np.unique(x, return_inverse=True)[1] * (MOST_SERIES + 1) + level.astype(np.int64)
    last = np.zeros(len(x), np.bool_)
    last[len(x) - 1 - np.unique(cells[::-1], return_index=True)[1]] = True
    return last
