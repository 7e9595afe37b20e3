"""Late rows in a chart over time: a cross on every answer they missed, and in words what that answer would have been."""

from __future__ import annotations

import dataclasses
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.core.snapshot import LateRows, Snapshot
from jupyter_stream.core.time import show_span
from jupyter_stream.views import words
from jupyter_stream.views.picture import Axis, Floats, Layer, Picture, Table
from jupyter_stream.views.points import floats
from jupyter_stream.views.roles import Roles

_LOW: Final = 0.04
"""Where crosses stand that have no answer to stand on: so far up the axis."""


def with_late_rows(picture: Picture, snapshot: Snapshot, roles: Roles) -> Picture:
    """The picture with its late rows, where it is of answers over time; otherwise as it is."""
    late = snapshot.late_rows
    if (
        late is None
        or picture.x is None
        or picture.y is None
        or picture.x.kind != "time"
        or roles.x != snapshot.time_column
    ):
        return picture
    x = late.at.cast(pl.Float64).to_numpy() / 1e3
    stacked = roles.chart == "area" and len(picture.legend) > 1
    y = _heights(late, dataclasses.replace(roles, y=()) if stacked else roles, picture.y)
    group = words.cells(late.keys.get_column(roles.by)) if roles.by in late.keys.columns else None
    table = _table(late)
    if not picture.panels:
        layers = (*picture.layers, _layer(x, y, np.arange(len(x)), picture.x))
        return dataclasses.replace(picture, layers=layers, late=table)
    panels = []
    for title, panel in picture.panels:
        at = np.flatnonzero(np.array(group, dtype=object) == title) if group is not None else np.arange(0)
        panels.append((title, dataclasses.replace(panel, layers=(*panel.layers, _layer(x, y, at, picture.x)))))
    return dataclasses.replace(picture, panels=tuple(panels), late=table)


def _layer(x: Floats, y: Floats, at: np.ndarray[tuple[int], np.dtype[np.intp]], axis: Axis) -> Layer:
    at = at[(x[at] >= axis.low) & (x[at] <= axis.high)]
    return Layer("late", {"x": x[at], "y": y[at], "late": at.astype(np.float64)})


def _heights(late: LateRows, roles: Roles, axis: Axis) -> Floats:
    """The height of the answer each missed, or of its row of cells."""
    if axis.kind == "category":
        place = {factor: i + 0.5 for i, factor in enumerate(axis.factors)}
        names = words.cells(late.keys.get_column(roles.by)) if roles.by in late.keys.columns else [""] * len(late.at)
        return np.array([place.get(name, 0.0) for name in names])
    floor = axis.low + _LOW * (axis.high - axis.low)
    if not roles.y or roles.y[0] not in late.given.columns:
        return np.full(len(late.at), floor)
    y = floats(late.given.get_column(roles.y[0]))
    return np.where(np.isnan(y), floor, y)


def _table(late: LateRows) -> Table:
    """What a cross says: the row, how late it came, each column of the answer it missed and what it would have been."""
    names = [*late.rows.columns, "came", "missed"]
    columns = [words.cells(column) for column in late.rows.get_columns()]
    columns.append([f"{show_span(micros)} late" for micros in late.came.to_list()])
    columns.append([f"the answer at {words.clock(at)}" for at in late.at.to_list()])
    for name in late.given.columns:
        names.append(name)
        given, would = words.cells(late.given.get_column(name)), words.cells(late.would.get_column(name))
        known = late.would.get_column(name).is_not_null().to_list()
        why = (
            f"what it would have been is not known: {late.why[name]}"
            if name in late.why
            else "would not have been there"
        )
        columns.append([
            (f"{_was(old)}, would have been {new}" if old != new else f"{old}, and would have been the same") if told
            else f"{_was(old)}; {why}"
            for old, new, told in zip(given, would, known, strict=True)
        ])  # fmt: skip
    return Table(tuple(names), tuple(columns), (False,) * len(names), (False,) * late.rows.height)


def _was(cell: str) -> str:
    return "no answer" if cell == words.NULL else cell
