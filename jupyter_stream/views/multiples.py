"""Small multiples: a chart for each series, all on the same axes, so that shapes compare without colours."""

from __future__ import annotations

import dataclasses
from typing import Final, Protocol

import numpy as np
import polars as pl

from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.views import words
from jupyter_stream.views.colours import Colours
from jupyter_stream.views.picture import Axis, Column, Layer, Picture
from jupyter_stream.views.points import categories, floats, table_of
from jupyter_stream.views.roles import Roles

MOST_PANELS: Final = 12


class Draws(Protocol):
    """A chart kind, as `chart.Chart`."""

    def picture(self, snapshot: Snapshot, roles: Roles, colours: Colours) -> Picture:
        """The chart of a snapshot."""


def multiples(kind: Draws, snapshot: Snapshot, roles: Roles, colours: Colours) -> Picture:
    """One panel per value of `roles.by`, in the order of the values, at most `MOST_PANELS`."""
    assert roles.by is not None
    names = categories(snapshot.rows.get_column(roles.by))
    label = np.array(words.cells(snapshot.rows.get_column(roles.by)), dtype=object)
    alone = dataclasses.replace(roles, by=None, multiples=False)
    shades: dict[str, str] = {}
    if len(roles.y) == 1:
        sizes = np.nan_to_num(floats(snapshot.rows.get_column(roles.y[0]))).tolist()
        shades = dict(zip(label, colours.of_values(roles.by, label.tolist(), sizes), strict=True))
    panels = []
    for name in names[:MOST_PANELS]:
        at = np.flatnonzero(label == name)
        drawn = kind.picture(_rows(snapshot, at), alone, colours)
        layers = tuple(_about(layer, at, shades.get(name)) for layer in drawn.layers)
        panels.append((name, dataclasses.replace(drawn, layers=layers)))
    first = panels[0][1]
    x, y = _all([p.x for _, p in panels]), _all([p.y for _, p in panels])
    note = f"{MOST_PANELS} of {len(names):,} small charts" if len(names) > MOST_PANELS else first.note
    marks = [p.watermark for _, p in panels if p.watermark is not None]
    return Picture(
        "plot", table_of(snapshot), x, y, (), first.legend, any(p.provisional for _, p in panels),
        max(marks) if marks else None, note, panels=tuple((name, dataclasses.replace(p, x=x, y=y)) for name, p in panels),
        beyond=any(p.beyond for _, p in panels),
    )  # fmt: skip


def _rows(snapshot: Snapshot, at: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Snapshot:
    final = snapshot.final.gather(at) if len(snapshot.final) == snapshot.rows.height else pl.Series([True] * len(at))
    return dataclasses.replace(snapshot, rows=snapshot.rows[at], final=final)


def _about(layer: Layer, at: np.ndarray[tuple[int], np.dtype[np.int64]], shade: str | None) -> Layer:
    """The layer in the key's colour, where there is one, with its rows numbered as those of the whole picture."""
    changed: dict[str, Column] = {}
    row, colour = layer.columns.get("row"), layer.columns.get("color")
    if isinstance(row, np.ndarray):
        changed["row"] = at[row.astype(np.int64)].astype(np.float64)
    if shade is not None and isinstance(colour, list):
        changed["color"] = [shade] * len(colour)
    return Layer(layer.kind, {**layer.columns, **changed})


def _all(axes: list[Axis | None]) -> Axis:
    """The axis that holds all of these."""
    known = [axis for axis in axes if axis is not None]
    first = known[0]
    if first.kind == "category":
        factors = tuple(dict.fromkeys(f for axis in known for f in axis.factors))
        return Axis(first.label, first.kind, 0, max(1, len(factors)), factors)
    return Axis(first.label, first.kind, min(a.low for a in known), max(a.high for a in known))
