"""One dot per row."""

from __future__ import annotations

from typing import Final

from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.views.colours import Colours
from jupyter_stream.views.picture import Axis, Layer, Picture
from jupyter_stream.views.points import points, table_of, with_watermark, y_axis
from jupyter_stream.views.roles import Roles


class Scatter:
    """A scatter chart."""

    name: Final = "scatter"

    def picture(self, snapshot: Snapshot, roles: Roles, colours: Colours) -> Picture:
        """Dots; newer rows lie over older ones."""
        data = points(snapshot, roles, colours)
        assert roles.x is not None
        axis, watermark = with_watermark(data.x_axis, snapshot, roles.x)
        if axis.kind != "category":
            air = 0.02 * (axis.high - axis.low)
            axis = Axis(axis.label, axis.kind, axis.low - air, axis.high + air)
        dots = Layer(
            "points",
            {"x": data.x, "y": data.y, "row": data.row, "color": data.point_colours(), "alpha": data.alphas() * 0.8},
        )
        return Picture(
            "plot",
            table_of(snapshot),
            axis,
            y_axis(data, data.y, zero=False),
            (dots,),
            data.legend,
            data.provisional,
            watermark,
            beyond=bool(data.beyond.any()),
        )
