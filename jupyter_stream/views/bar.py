"""Bars over categories or times. Over a key of a stream, each bar is that key's newest row."""

from __future__ import annotations

import dataclasses
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.views import words
from jupyter_stream.views.colours import Colours
from jupyter_stream.views.picture import Axis, Floats, Layer, Picture
from jupyter_stream.views.points import (
    LIGHT,
    SOLID,
    Points,
    filled,
    floats,
    points,
    table_of,
    with_watermark,
    y_axis,
)
from jupyter_stream.views.roles import Roles

MOST_BARS: Final = 40
"""Categories drawn; beyond, the labels can't be read. The largest are kept."""


class Bar:
    """A bar chart; with series, bars side by side."""

    name: Final = "bar"

    def picture(self, snapshot: Snapshot, roles: Roles, colours: Colours) -> Picture:
        """Bars from zero."""
        assert roles.x is not None and roles.y
        snapshot, note = _newest(snapshot, roles)
        data = points(snapshot, roles, colours, by_category=roles.x != snapshot.time_column)
        axis, watermark = with_watermark(data.x_axis, snapshot, roles.x)
        side_by_side = len(data.labels)
        width = 0.8 if axis.kind == "category" else 0.8 * step(data.x)
        if axis.kind != "category":
            axis = Axis(axis.label, axis.kind, float(np.nanmin(data.x, initial=np.inf)) - width * 0.75,
                        max(axis.high, float(np.nanmax(data.x, initial=-np.inf)) + width * 0.75))  # fmt: skip
            if not np.isfinite(axis.low):
                axis = data.x_axis
        each = width / max(1, side_by_side)
        shades, alphas = _colours(data, snapshot, roles, colours)
        left = data.x - width / 2 + data.series * each
        boxes = Layer(
            "boxes",
            {"left": left, "right": left + each * (0.95 if side_by_side > 1 else 1.0),
             "bottom": np.minimum(0.0, data.y), "top": np.maximum(0.0, data.y), "row": data.row,
             "color": shades, "alpha": alphas},
        )  # fmt: skip
        return Picture(
            "plot", table_of(snapshot), axis, y_axis(data, data.y, zero=True), (boxes,), data.legend,
            data.provisional, watermark, note, beyond=bool(data.beyond.any())
        )  # fmt: skip


def step(x: Floats) -> float:
    """The smallest distance between neighbours, 1000 (a second on a time axis) where there is one place only."""
    places = np.unique(x[np.isfinite(x)])
    return float(np.diff(places).min()) if len(places) > 1 else 1000.0


def _colours(data: Points, snapshot: Snapshot, roles: Roles, colours: Colours) -> tuple[list[str], Floats]:
    """Colour and opacity of each bar. Without series, a key's bar has the colour that the key has in other charts."""
    if len(data.labels) > 1 or roles.by or roles.x not in snapshot.key_columns or data.x_axis.kind != "category":
        return data.point_colours(), data.alphas()
    keys = words.cells(snapshot.rows.get_column(roles.x))
    return colours.of_values(roles.x, keys, np.nan_to_num(data.y).tolist()), np.where(data.whole, SOLID, LIGHT)


def _newest(snapshot: Snapshot, roles: Roles) -> tuple[Snapshot, str | None]:
    assert roles.x is not None
    frame = snapshot.rows
    if frame.schema[roles.x].is_temporal() or roles.x == snapshot.time_column:
        return snapshot, None
    snapshot = filled(snapshot)
    frame = snapshot.rows
    final = (
        snapshot.final if len(snapshot.final) == frame.height else pl.Series([True] * frame.height, dtype=pl.Boolean)
    )
    numbered = frame.select(roles.x, *((roles.by,) if roles.by else ())).with_row_index("$at")
    at = numbered.group_by(numbered.columns[1:], maintain_order=True).agg(pl.col("$at").last())["$at"].sort()
    note = None
    categories = frame.get_column(roles.x).n_unique()
    most = min(roles.top or MOST_BARS, MOST_BARS)
    if categories > most:
        height = np.abs(np.nan_to_num(floats(frame.get_column(roles.y[0])[at])))
        at = at[np.sort(np.argsort(-height, kind="stable")[:most])]
        note = f"the {len(at)} largest of {categories:,} bars"
    return dataclasses.replace(snapshot, rows=frame[at], final=final[at]), note
