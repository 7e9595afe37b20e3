"""A plot as a small SVG, for pages without a kernel. Draws the same `Picture` as Bokeh does, on white, without scripts."""

from __future__ import annotations

import datetime as dt
import math
from html import escape
from typing import Final

import numpy as np

from jupyter_stream.views.picture import Axis, Floats, Layer, Picture, Ragged

WIDTH: Final = 760
HEIGHT: Final = 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 68, 16, 12, 46
_INK, _FAINT = "#333", "#e2e2e2"
_SECONDS: Final = (
    1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
    10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000, 31536000,
)  # fmt: skip
_LONGEST_PATH: Final = 1500
"""Points drawn per line: twice the pixels across."""


def svg(picture: Picture) -> str:
    """The plot as text; every string in it is escaped."""
    assert picture.x is not None and picture.y is not None
    left = _LEFT
    if picture.y.kind == "category":
        left = min(180, 24 + 7 * max((len(f) for f in picture.y.factors), default=0))
    entries = (*picture.legend, *((("not final yet", "#bbb"),) if picture.provisional else ()))
    rows = _legend_rows((*entries, ("watermark", "")) if picture.watermark is not None else entries)
    top = _TOP + 17 * len(rows)
    height = HEIGHT + 17 * len(rows)
    frame = _Frame(picture.x, picture.y, left, top, WIDTH - _RIGHT, height - _BOTTOM)
    body = [_legend(rows, left), *_axes(frame)]
    body += [f'<g clip-path="url(#c)">{_shapes(layer, frame)}</g>' for layer in picture.layers]
    if picture.watermark is not None:
        x = frame.across(np.array([picture.watermark]))[0]
        body.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{frame.top}" y2="{frame.bottom}" stroke="{_INK}" stroke-dasharray="5 4"/>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="system-ui,Helvetica,Arial,sans-serif" font-size="11" fill="{_INK}">'
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>'
        f'<clipPath id="c"><rect x="{frame.left}" y="{frame.top - 4}" width="{frame.right - frame.left + 4}" '
        f'height="{frame.bottom - frame.top + 8}"/></clipPath>' + "".join(body) + "</svg>"
    )


class _Frame:
    """Where data stand on the paper."""

    def __init__(self, x: Axis, y: Axis, left: int, top: int, right: int, bottom: int) -> None:
        self.x, self.y, self.left, self.top, self.right, self.bottom = x, y, left, top, right, bottom

    def across(self, values: Floats) -> Floats:
        return self.left + (values - self.x.low) / ((self.x.high - self.x.low) or 1.0) * (self.right - self.left)

    def up(self, values: Floats) -> Floats:
        return self.bottom - (values - self.y.low) / ((self.y.high - self.y.low) or 1.0) * (self.bottom - self.top)


def _axes(f: _Frame) -> list[str]:
    out = []
    for place, label in _ticks(f.y, 5):
        y = f.up(np.array([place]))[0]
        if f.y.kind != "category":
            out.append(f'<line x1="{f.left}" x2="{f.right}" y1="{y:.1f}" y2="{y:.1f}" stroke="{_FAINT}"/>')
        out.append(f'<text x="{f.left - 6}" y="{y + 4:.1f}" text-anchor="end">{_text(label, 22)}</text>')
    room = (f.right - f.left) / max(1, len(f.x.factors)) if f.x.kind == "category" else 0
    for place, label in _ticks(f.x, 7):
        x = f.across(np.array([place]))[0]
        if f.x.kind != "category":
            out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{f.top}" y2="{f.bottom}" stroke="{_FAINT}"/>')
        if room and room < 7 * min(len(label), 12):
            out.append(
                f'<text x="{x:.1f}" y="{f.bottom + 12}" text-anchor="end" transform="rotate(-35 {x:.1f} {f.bottom + 12})">'
                f"{_text(label, 9)}</text>"
            )
        else:
            out.append(f'<text x="{x:.1f}" y="{f.bottom + 15}" text-anchor="middle">{_text(label, 22)}</text>')
    out.append(f'<line x1="{f.left}" x2="{f.right}" y1="{f.bottom}" y2="{f.bottom}" stroke="#888"/>')
    middle_x, middle_y = (f.left + f.right) / 2, (f.top + f.bottom) / 2
    label = f.x.label
    if f.x.kind == "time":
        label += f", {_day(f.x.low)}"
    out.append(
        f'<text x="{middle_x:.0f}" y="{f.bottom + 36}" text-anchor="middle" font-size="12">{_text(label, 90)}</text>'
    )
    out.append(
        f'<text transform="translate(14 {middle_y:.0f}) rotate(-90)" text-anchor="middle" font-size="12">'
        f"{_text(f.y.label, 40)}</text>"
    )
    return out


def _shapes(layer: Layer, f: _Frame) -> str:
    columns = layer.columns
    colours, alphas = columns["color"], columns["alpha"]
    assert isinstance(colours, list) and isinstance(alphas, np.ndarray)
    if layer.kind in ("lines", "areas"):
        xs, ys = columns["xs"], columns["ys"]
        assert isinstance(xs, Ragged) and isinstance(ys, Ragged)
        return "".join(
            _path(f.across(x), f.up(y), colour, float(alpha), filled=layer.kind == "areas")
            for x, y, colour, alpha in zip(xs.arrays(), ys.arrays(), colours, alphas, strict=True)
        )
    if layer.kind == "points":
        x, y = columns["x"], columns["y"]
        assert isinstance(x, np.ndarray) and isinstance(y, np.ndarray)
        shown = np.flatnonzero((alphas > 0) & np.isfinite(x) & np.isfinite(y))[-_LONGEST_PATH:]
        px, py = f.across(x), f.up(y)
        return "".join(
            f'<circle cx="{px[i]:.1f}" cy="{py[i]:.1f}" r="2.6" fill="{colours[i]}"{_opacity(float(alphas[i]))}/>'
            for i in shown
        )
    edges = [columns[name] for name in ("left", "right", "top", "bottom")]
    left, right, top, bottom = (np.asarray(e, dtype=np.float64) for e in edges)
    shown = np.flatnonzero(np.isfinite(left) & np.isfinite(top))[-_LONGEST_PATH:]
    px0, px1, py1, py0 = f.across(left), f.across(right), f.up(top), f.up(bottom)
    return "".join(
        f'<rect x="{px0[i]:.1f}" y="{py1[i]:.1f}" width="{max(0.5, px1[i] - px0[i]):.1f}" '
        f'height="{max(0.0, py0[i] - py1[i]):.1f}" fill="{colours[i]}"{_opacity(float(alphas[i]))}/>'
        for i in shown
    )


def _path(x: Floats, y: Floats, colour: str, alpha: float, *, filled: bool) -> str:
    if not filled and len(x) > _LONGEST_PATH:
        kept = np.linspace(0, len(x) - 1, _LONGEST_PATH).astype(np.int64)
        x, y = x[kept], y[kept]
    parts, pen = [], "M"
    for a, b in zip(x.round(1).tolist(), y.round(1).tolist(), strict=True):
        if math.isnan(a) or math.isnan(b):
            pen = "M"
            continue
        parts.append(f"{pen}{a:g} {b:g}")
        pen = "L"
    if not parts:
        return ""
    if filled:
        return f'<path d="{"".join(parts)}Z" fill="{colour}"{_opacity(alpha)}/>'
    return f'<path d="{"".join(parts)}" fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round"{_opacity(alpha)}/>'


def _opacity(alpha: float) -> str:
    return "" if alpha >= 1 else f' opacity="{alpha:.2f}"'


def _ticks(axis: Axis, about: int) -> list[tuple[float, str]]:
    if axis.kind == "category":
        every = max(1, math.ceil(len(axis.factors) / 40))
        return [(i + 0.5, f) for i, f in enumerate(axis.factors) if i % every == 0]
    width = (axis.high - axis.low) or 1.0
    if axis.kind == "time":
        step = next((s for s in _SECONDS if s * 1000 * about >= width), _SECONDS[-1]) * 1000
    else:
        rough = width / about
        power = 10.0 ** math.floor(math.log10(rough))
        step = power * next(m for m in (1, 2, 5, 10) if m * power >= rough)
    first = math.ceil(axis.low / step - 1e-9)
    places = [i * step for i in range(first, math.floor(axis.high / step + 1e-9) + 1)][: 4 * about]
    return [(p, _time(p, step) if axis.kind == "time" else _number(p, step)) for p in places]


def _time(millis: float, step: float) -> str:
    at = dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=millis)
    if step >= 86_400_000:
        return at.strftime("%b %d") if step < 2_592_000_000 else at.strftime("%b %Y")
    if step >= 60_000:
        return at.strftime("%H:%M") if (at.hour or at.minute) else at.strftime("%b %d")
    return at.strftime("%H:%M:%S") if step >= 1000 else at.strftime("%H:%M:%S.%f")[:-3]


def _day(millis: float) -> str:
    try:
        return (dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=millis)).strftime("%Y-%m-%d")
    except OverflowError:
        return ""


def _number(value: float, step: float) -> str:
    if step >= 1e6:
        return f"{value / 1e6:,.6g}M" if step < 1e9 else f"{value:.3g}"
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value + 0.0:,.{min(decimals, 8)}f}"


def _legend_rows(entries: tuple[tuple[str, str], ...]) -> list[list[tuple[str, str, int]]]:
    rows: list[list[tuple[str, str, int]]] = []
    used = WIDTH
    for label, colour in entries:
        width = 26 + int(6.2 * min(len(label), 24))
        if used + width > WIDTH - _LEFT - _RIGHT:
            rows.append([])
            used = 0
        rows[-1].append((label, colour, used))
        used += width
    return rows


def _legend(rows: list[list[tuple[str, str, int]]], left: int) -> str:
    out = []
    for r, row in enumerate(rows):
        for label, colour, at in row:
            x, y = left + at, 14 + 17 * r
            if colour:
                out.append(f'<rect x="{x}" y="{y - 8}" width="10" height="10" rx="2" fill="{colour}"/>')
            else:
                out.append(f'<path d="M{x + 6} {y - 9}v12" stroke="{_INK}" stroke-dasharray="3 2"/>')
            out.append(f'<text x="{x + 14}" y="{y + 1}">{_text(label, 24)}</text>')
    return "".join(out)


def _text(text: str, most: int) -> str:
    """Escaped, without control characters (XML knows none), cut to so many characters."""
    plain = "".join(ch if ch.isprintable() else " " for ch in text)
    return escape(plain if len(plain) <= most else plain[: most - 1] + "…")
