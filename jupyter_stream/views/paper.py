"""A picture on paper: where everything stands, drawn with a pen. For pages without a kernel, and files.

Pens are in `svg.py` and `png.py`. The same `Picture` is drawn by Bokeh in a live page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, TypeAlias

import numpy as np

from jupyter_stream.views.colours import NIGHT, PALETTE
from jupyter_stream.views.number import change
from jupyter_stream.views.picture import Axis, Floats, Layer, Picture, Ragged
from jupyter_stream.views.ticks import day, ticks

WIDTH: Final = 760
HEIGHT: Final = 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 68, 16, 12, 46
_LONGEST_PATH: Final = 1500
"""Points drawn per line: twice the pixels across."""
_ROW, _MOST_LINES = 20, 40
_WIDEST: Final = 0.7
"""Ems of a bold digit in the widest of the usual fonts (DejaVu Sans)."""
_PANEL: Final = 150
"""Height of a small multiple."""

Anchor: TypeAlias = Literal["start", "middle", "end"]
Line: TypeAlias = "list[tuple[float, float]]"


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of paper and ink; without paper of its own, `none`."""

    paper: str
    ink: str
    faint: str
    axis: str
    shades: Mapping[str, str] = field(default_factory=dict)
    """What stands for a colour on this paper."""

    def shade(self, colour: str) -> str:
        """A colour as it is seen on this paper."""
        return self.shades.get(colour, colour)


LIGHT: Final = Theme("#ffffff", "#333333", "#e2e2e2", "#888888")
DARK: Final = Theme("#111418", "#d7dade", "#33383f", "#7d858f", NIGHT)
ANY_PAGE: Final = Theme("none", "#7a7f86", "#80808040", "#7a7f86", NIGHT)
"""On whatever page it stands, light or dark, which is seen through it: nobody tells an image which it is."""
THEMES: Final = {"light": LIGHT, "dark": DARK}


class Pen(Protocol):
    """Draws shapes; lengths in pixels from the upper left."""

    def rect(self, x: float, y: float, width: float, height: float, fill: str, opacity: float = 1.0) -> None:
        """A filled box."""

    def line(self, a: tuple[float, float], b: tuple[float, float], stroke: str, *, dashed: bool = False) -> None:
        """A thin straight line."""

    def lines(self, parts: Sequence[Line], stroke: str, width: float, opacity: float = 1.0) -> None:
        """Lines through points."""

    def area(self, outline: Line, fill: str, opacity: float = 1.0) -> None:
        """A filled polygon."""

    def dot(self, x: float, y: float, radius: float, fill: str, opacity: float = 1.0) -> None:
        """A filled circle."""

    def text(
        self, x: float, y: float, text: str, fill: str, *, size: float = 11, anchor: Anchor = "start", turned: float = 0.0,
        bold: bool = False,
    ) -> None:  # fmt: skip
        """A text, (x, y) on its base line, turned by degrees anticlockwise."""

    def clip(self, x: float, y: float, width: float, height: float) -> None:
        """Draw only inside a box from now on."""

    def unclip(self) -> None:
        """Draw everywhere again."""


def size(picture: Picture) -> tuple[int, int]:
    """Width and height of the paper a picture needs."""
    if picture.kind == "table":
        return WIDTH, _ROW * (min(picture.rows.height, _MOST_LINES) + 2)
    if picture.kind == "number":
        return WIDTH, 130
    top = 17 * len(_legend_rows(picture))
    if picture.panels:
        return WIDTH, top + _grid(len(picture.panels))[1] * (_PANEL + 20) + _BOTTOM
    return WIDTH, HEIGHT + top


def draw(picture: Picture, pen: Pen, theme: Theme = LIGHT) -> None:
    """Draw a picture on paper of its `size`."""
    width, height = size(picture)
    if theme.paper != "none":
        pen.rect(0, 0, width, height, theme.paper)
    if picture.kind == "table":
        _table(picture, pen, theme)
    elif picture.kind == "number":
        _numbers(picture, pen, theme)
    else:
        _plot(picture, pen, theme, height)


class _Frame:
    """Where data stand on the paper."""

    def __init__(self, x: Axis, y: Axis, left: float, top: float, right: float, bottom: float) -> None:
        self.x, self.y, self.left, self.top, self.right, self.bottom = x, y, left, top, right, bottom

    def across(self, values: Floats) -> Floats:
        return self.left + (values - self.x.low) / ((self.x.high - self.x.low) or 1.0) * (self.right - self.left)

    def up(self, values: Floats) -> Floats:
        return self.bottom - (values - self.y.low) / ((self.y.high - self.y.low) or 1.0) * (self.bottom - self.top)


def _plot(picture: Picture, pen: Pen, theme: Theme, height: int) -> None:
    assert picture.x is not None and picture.y is not None
    left = _LEFT
    if picture.y.kind == "category":
        left = min(180, 24 + 7 * max((len(f) for f in picture.y.factors), default=0))
    rows = _legend_rows(picture)
    top = _TOP + 17 * len(rows)
    _legend(rows, left, pen, theme)
    if picture.scale is not None:
        _scale(picture, pen, theme, left)
    whole = _Frame(picture.x, picture.y, left, top, WIDTH - _RIGHT, height - _BOTTOM)
    _words(whole, pen, theme)
    if not picture.panels:
        _axes(whole, pen, theme, across=7, up=5)
        _shapes(picture, whole, pen, theme)
        return
    columns, _ = _grid(len(picture.panels))
    wide = (whole.right - whole.left) / columns
    for i, (title, panel) in enumerate(picture.panels):
        x, y = whole.left + (i % columns) * wide, top + (i // columns) * (_PANEL + 20)
        frame = _Frame(picture.x, picture.y, x + (i % columns > 0) * 22, y + 16, x + wide - 8, y + _PANEL - 4)
        _axes(frame, pen, theme, across=4, up=4)
        pen.text((frame.left + frame.right) / 2, y + 10, _cut(title, 34), theme.ink, anchor="middle", bold=True)
        _shapes(panel, frame, pen, theme)


def _grid(panels: int) -> tuple[int, int]:
    columns = 2 if panels in (2, 4) else min(3, panels)
    return columns, -(-panels // columns)


def _words(f: _Frame, pen: Pen, theme: Theme) -> None:
    label = f.x.label + (f", {day(f.x.low)}" if f.x.kind == "time" else "")
    pen.text((f.left + f.right) / 2, f.bottom + 36, _cut(label, 90), theme.ink, size=12, anchor="middle")
    pen.text(14, (f.top + f.bottom) / 2, _cut(f.y.label, 40), theme.ink, size=12, anchor="middle", turned=90)


def _axes(f: _Frame, pen: Pen, theme: Theme, *, across: int, up: int) -> None:
    for place, label in ticks(f.y, up):
        y = float(f.up(np.array([place]))[0])
        if f.y.kind != "category":
            pen.line((f.left, y), (f.right, y), theme.faint)
        pen.text(f.left - 6, y + 4, _cut(label, 22), theme.ink, anchor="end")
    room = (f.right - f.left) / max(1, len(f.x.factors)) if f.x.kind == "category" else 0
    for place, label in ticks(f.x, across):
        x = float(f.across(np.array([place]))[0])
        if f.x.kind != "category":
            pen.line((x, f.top), (x, f.bottom), theme.faint)
        if room and room < 7 * min(len(label), 12):
            pen.text(x, f.bottom + 12, _cut(label, 9), theme.ink, anchor="end", turned=35)
        else:
            pen.text(x, f.bottom + 15, _cut(label, 22), theme.ink, anchor="middle")
    pen.line((f.left, f.bottom), (f.right, f.bottom), theme.axis)


def _shapes(picture: Picture, f: _Frame, pen: Pen, theme: Theme) -> None:
    pen.clip(f.left, f.top - 4, f.right - f.left + 4, f.bottom - f.top + 8)
    for layer in picture.layers:
        _layer(layer, f, pen, theme)
    pen.unclip()
    if picture.watermark is not None:
        x = float(f.across(np.array([picture.watermark]))[0])
        if f.left <= x <= f.right + 1:
            pen.line((x, f.top), (x, f.bottom), theme.ink, dashed=True)


def _layer(layer: Layer, f: _Frame, pen: Pen, theme: Theme) -> None:
    columns = layer.columns
    if layer.kind == "late":
        for x, y in zip(f.across(_floats(layer, "x")), f.up(_floats(layer, "y")), strict=True):
            pen.lines([[(x - 4, y - 4), (x + 4, y + 4)], [(x - 4, y + 4), (x + 4, y - 4)]], theme.ink, 2.5)
        return
    colours, alphas = columns["color"], _floats(layer, "alpha")
    assert isinstance(colours, list)
    colours = [theme.shade(colour) for colour in colours]
    if layer.kind in ("lines", "areas"):
        xs, ys = columns["xs"], columns["ys"]
        assert isinstance(xs, Ragged) and isinstance(ys, Ragged)
        for x, y, colour, alpha in zip(xs.arrays(), ys.arrays(), colours, alphas, strict=True):
            _line(f.across(x), f.up(y), colour, float(alpha), pen, filled=layer.kind == "areas")
    elif layer.kind == "points":
        px, py = f.across(_floats(layer, "x")), f.up(_floats(layer, "y"))
        for i in np.flatnonzero((alphas > 0) & np.isfinite(px) & np.isfinite(py))[-_LONGEST_PATH:]:
            pen.dot(float(px[i]), float(py[i]), 2.6, colours[i], float(alphas[i]))
    else:
        left, right = f.across(_floats(layer, "left")), f.across(_floats(layer, "right"))
        top, bottom = f.up(_floats(layer, "top")), f.up(_floats(layer, "bottom"))
        for i in np.flatnonzero(np.isfinite(left) & np.isfinite(top))[-_LONGEST_PATH:]:
            wide, tall = max(0.5, float(right[i] - left[i])), max(0.0, float(bottom[i] - top[i]))
            pen.rect(float(left[i]), float(top[i]), wide, tall, colours[i], float(alphas[i]))


def _floats(layer: Layer, name: str) -> Floats:
    column = layer.columns[name]
    assert isinstance(column, np.ndarray)
    return column


def _line(x: Floats, y: Floats, colour: str, alpha: float, pen: Pen, *, filled: bool) -> None:
    if filled:
        if len(x):
            pen.area(list(zip(x.tolist(), y.tolist(), strict=True)), colour, alpha)
        return
    if len(x) > _LONGEST_PATH:
        kept = np.linspace(0, len(x) - 1, _LONGEST_PATH).astype(np.int64)
        x, y = x[kept], y[kept]
    parts: list[Line] = [[]]
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        if math.isnan(a) or math.isnan(b):
            parts.append([])
        else:
            parts[-1].append((a, b))
    known = [part for part in parts if part]
    if known:
        pen.lines(known, colour, 2, alpha)


def _legend_rows(picture: Picture) -> list[list[tuple[str, str, int]]]:
    """(label, colour or sign, place) of the entries, line by line."""
    entries = [*picture.legend, *picture.signs]
    rows: list[list[tuple[str, str, int]]] = [[]] if picture.scale is not None else []
    used = WIDTH if not rows else 360
    for label, colour in entries:
        width = 26 + int(6.2 * min(len(label), 24))
        if used + width > WIDTH - _LEFT - _RIGHT:
            rows.append([])
            used = 0
        rows[-1].append((label, colour, used))
        used += width
    return rows


def _legend(rows: list[list[tuple[str, str, int]]], left: int, pen: Pen, theme: Theme) -> None:
    for r, row in enumerate(rows):
        for label, colour, at in row:
            x, y = left + at, 14 + 17 * r
            if colour == "dashed":
                pen.line((x + 6, y - 9), (x + 6, y + 3), theme.ink, dashed=True)
            elif colour == "cross":
                pen.lines([[(x + 1, y - 7), (x + 9, y + 1)], [(x + 1, y + 1), (x + 9, y - 7)]], theme.ink, 2.5)
            else:
                fill, opacity = (theme.ink, 0.3) if colour == "light" else (theme.shade(colour), 1.0)
                pen.rect(x, y - 8, 10, 10, fill, opacity)
            pen.text(x + 14, y + 1, _cut(label, 24), theme.ink)


def _scale(picture: Picture, pen: Pen, theme: Theme, left: int) -> None:
    assert picture.scale is not None
    label = _cut(f"{picture.scale.label}: {picture.scale.low}", 32)
    pen.text(left, 15, label, theme.ink)
    x, each = left + 8 + 6.2 * len(label), 110 / len(picture.scale.colours)
    for i, colour in enumerate(picture.scale.colours):
        pen.rect(x + i * each, 6, each + 0.5, 10, colour)
    pen.text(x + 116, 15, _cut(picture.scale.high, 14), theme.ink)


def _table(picture: Picture, pen: Pen, theme: Theme) -> None:
    rows = picture.rows
    shown = range(min(rows.height, _MOST_LINES))
    pairs = zip(rows.names, rows.columns, strict=True)
    longest = [max([len(name), *(len(column[i]) for i in shown)]) for name, column in pairs]
    wide = [min(30, n) + 3 for n in longest]
    each = min(7.0, (WIDTH - 16) / max(1, sum(wide)))
    x = 8.0
    for c, (name, column) in enumerate(zip(rows.names, rows.columns, strict=True)):
        right = rows.numeric[c]
        most = max(2, int(wide[c] * each / 6.4))
        at = x + (wide[c] - 2) * each if right else x
        anchor: Anchor = "end" if right else "start"
        pen.text(at, 16, _cut(name, most), theme.ink, anchor=anchor, bold=True)
        for r in shown:
            light = r < len(rows.light) and rows.light[r]
            pen.text(at, 16 + _ROW * (r + 1), _cut(column[r], most), theme.axis if light else theme.ink, anchor=anchor)
        x += wide[c] * each
    pen.line((8, 22), (WIDTH - 8, 22), theme.axis)
    foot = picture.foot(len(shown))
    if foot:
        pen.text(8, 14 + _ROW * (len(shown) + 1), _cut(foot, 100), theme.axis)


def _numbers(picture: Picture, pen: Pen, theme: Theme) -> None:
    each = (WIDTH - 20) / max(1, len(picture.rows.names))
    for i, (name, cells) in enumerate(zip(picture.rows.names, picture.rows.columns, strict=True)):
        x = 10 + i * each
        past = picture.past[i] if i < len(picture.past) else np.empty(0)
        figure = cells[0] if cells else ""
        room = each - 12
        pen.text(x, 18, _cut(name, int(each / 7)), theme.ink, size=12)
        pen.text(x, 56, figure, theme.ink, size=_fitting(figure, room, 34.0), bold=True)
        changed = change(past).replace("▲", "+").replace("▼", "-")
        pen.text(x, 74, changed, theme.axis, size=_fitting(changed, room, 11.0))
        known = past[np.isfinite(past)]
        if len(known) > 1:
            low, high = float(known.min()), float(known.max())
            across = x + np.linspace(0, min(160.0, each - 12), len(known))
            up = 120 - (known - low) / ((high - low) or 1.0) * 34
            colour = theme.shade(picture.shades[i] if picture.shades else PALETTE[0])
            pen.lines([list(zip(across.tolist(), up.tolist(), strict=True))], colour, 1.8)
            pen.dot(float(across[-1]), float(up[-1]), 2.5, colour)


def _fitting(text: str, room: float, tallest: float) -> float:
    """The size at which a number has room: none is cut, and none reaches into its neighbour."""
    return min(tallest, room / (max(1, len(text)) * _WIDEST))


def _cut(text: str, most: int) -> str:
    """Without control characters (XML knows none), cut to so many characters."""
    plain = "".join(ch if ch.isprintable() else " " for ch in text)
    return plain if len(plain) <= most else plain[: most - 1] + "…"
