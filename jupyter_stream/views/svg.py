"""A picture as a small SVG, without scripts. Every string in it is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from jupyter_stream.views.paper import LIGHT, Anchor, Line, Theme, draw, size
from jupyter_stream.views.picture import Picture


def svg(picture: Picture, theme: Theme = LIGHT) -> str:
    """The picture as text."""
    width, height = size(picture)
    pen = _Svg()
    draw(picture, pen, theme)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="system-ui,Helvetica,Arial,sans-serif" font-size="11">' + "".join(pen.parts) + "</svg>"
    )


class _Svg:
    """A pen that writes elements."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._clips = 0

    def rect(self, x: float, y: float, width: float, height: float, fill: str, opacity: float = 1.0) -> None:
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"{_opacity(opacity)}/>'
        )

    def line(self, a: tuple[float, float], b: tuple[float, float], stroke: str, *, dashed: bool = False) -> None:
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(
            f'<line x1="{a[0]:.1f}" x2="{b[0]:.1f}" y1="{a[1]:.1f}" y2="{b[1]:.1f}" stroke="{stroke}"{dash}/>'
        )

    def lines(self, parts: Sequence[Line], stroke: str, width: float, opacity: float = 1.0) -> None:
        path = "".join(_path(part) for part in parts)
        self.parts.append(
            f'<path d="{path}" fill="none" stroke="{stroke}" stroke-width="{width:g}" stroke-linejoin="round"'
            f"{_opacity(opacity)}/>"
        )

    def area(self, outline: Line, fill: str, opacity: float = 1.0) -> None:
        self.parts.append(f'<path d="{_path(outline)}Z" fill="{fill}"{_opacity(opacity)}/>')

    def dot(self, x: float, y: float, radius: float, fill: str, opacity: float = 1.0) -> None:
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{fill}"{_opacity(opacity)}/>')

    def text(
        self, x: float, y: float, text: str, fill: str, *, size: float = 11, anchor: Anchor = "start", turned: float = 0.0,
        bold: bool = False,
    ) -> None:  # fmt: skip
        style = "" if size == 11 else f' font-size="{size:g}"'
        style += "" if anchor == "start" else f' text-anchor="{anchor}"'
        style += ' font-weight="600"' if bold else ""
        style += f' transform="rotate({-turned:g} {x:.1f} {y:.1f})"' if turned else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}"{style}>{escape(text)}</text>')

    def clip(self, x: float, y: float, width: float, height: float) -> None:
        self._clips += 1
        box = f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'
        self.parts.append(f'<clipPath id="c{self._clips}">{box}</clipPath><g clip-path="url(#c{self._clips})">')

    def unclip(self) -> None:
        self.parts.append("</g>")


def _path(points: Line) -> str:
    return "".join(f"{'L' if i else 'M'}{x:.5g} {y:.5g}" for i, (x, y) in enumerate(points))


def _opacity(alpha: float) -> str:
    return "" if alpha >= 1 else f' opacity="{alpha:.2f}"'
