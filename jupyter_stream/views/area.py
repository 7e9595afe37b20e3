"""Areas under lines, overlapping, one per series: for one series or a few."""

from __future__ import annotations

from typing import Final

import numpy as np

from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.views.colours import Colours
from jupyter_stream.views.line import Line
from jupyter_stream.views.picture import Axis, Layer, Picture, Ragged
from jupyter_stream.views.roles import Roles


class Area:
    """An area chart: the line chart with its lines filled down to zero."""

    name: Final = "area"

    def picture(self, snapshot: Snapshot, roles: Roles, colours: Colours) -> Picture:
        """The line chart's picture with a filled layer below it and zero on the axis."""
        line = Line().picture(snapshot, roles, colours)
        assert line.y is not None
        drawn = line.layers[0].columns
        xs, ys = drawn["xs"], drawn["ys"]
        assert isinstance(xs, Ragged) and isinstance(ys, Ragged)
        alphas = drawn["alpha"]
        assert isinstance(alphas, np.ndarray)
        closed_x, closed_y = [], []
        for x, y in zip(xs.arrays(), ys.arrays(), strict=True):
            known = ~np.isnan(y)
            x, y = x[known], y[known]
            closed_x.append(np.concatenate((x, x[::-1])))
            closed_y.append(np.concatenate((y, np.zeros(len(y)))))
        fill = Layer(
            "areas",
            {"xs": Ragged.of(closed_x), "ys": Ragged.of(closed_y), "color": drawn["color"], "alpha": alphas * 0.3},
        )
        y_axis = Axis(line.y.label, "number", min(0.0, line.y.low), max(0.0, line.y.high))
        return Picture(
            "plot", line.rows, line.x, y_axis, (fill, *line.layers), line.legend, line.provisional, line.watermark
        )
