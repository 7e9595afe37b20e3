"""A picture as a PNG, twice as fine as its size in pixels. Needs no browser; Pillow comes with Bokeh."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from PIL import Image, ImageDraw, ImageFont

from jupyter_stream.views.paper import LIGHT, Anchor, Line, Theme, draw, size
from jupyter_stream.views.picture import Picture

FINE: Final = 2
"""Pixels of the file per pixel of the page: what screens and slides show sharply."""
_SMOOTH: Final = 2
"""Drawn so much larger and taken together: Pillow's shapes have hard edges."""
_SCALE: Final = FINE * _SMOOTH


def png(picture: Picture, theme: Theme = LIGHT) -> bytes:
    """The picture as a file."""
    width, height = size(picture)
    pen = _Pixels(width, height, theme.paper)
    draw(picture, pen, theme)
    pen.unclip()
    out = io.BytesIO()
    small = pen.image.resize((width * FINE, height * FINE), Image.Resampling.LANCZOS)
    small.save(out, "PNG", optimize=True)
    return out.getvalue()


@lru_cache(maxsize=32)
def _font(pixels: int) -> Any:
    return ImageFont.load_default(pixels)


class _Pixels:
    """A pen on an image; what is half transparent is drawn on a sheet of its own and laid over."""

    def __init__(self, width: int, height: int, paper: str) -> None:
        self.image = Image.new("RGB", (width * _SCALE, height * _SCALE), paper)
        self._under: tuple[Image.Image, tuple[int, int, int, int]] | None = None

    def rect(self, x: float, y: float, width: float, height: float, fill: str, opacity: float = 1.0) -> None:
        box = [x * _SCALE, y * _SCALE, (x + width) * _SCALE - 1, (y + height) * _SCALE - 1]
        if box[2] >= box[0] and box[3] >= box[1]:
            self._shape(
                opacity, (box[0], box[1], box[2], box[3]), lambda d, at: d.rectangle(_moved(box, at), fill=fill)
            )

    def line(self, a: tuple[float, float], b: tuple[float, float], stroke: str, *, dashed: bool = False) -> None:
        pen = ImageDraw.Draw(self.image)
        if not dashed:
            pen.line([_up(a), _up(b)], fill=stroke, width=_SCALE)
            return
        length = ((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2) ** 0.5 or 1.0
        for i in range(0, int(length), 9):
            ends = [min(1.0, (i + d) / length) for d in (0, 5)]
            points = [_up((a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t)) for t in ends]
            pen.line(points, fill=stroke, width=_SCALE)

    def lines(self, parts: Sequence[Line], stroke: str, width: float, opacity: float = 1.0) -> None:
        points = [[_up(p) for p in part] for part in parts]
        wide = round(width * _SCALE)

        def ink(pen: ImageDraw.ImageDraw, at: tuple[float, float]) -> None:
            for part in points:
                moved = [(x - at[0], y - at[1]) for x, y in part]
                pen.line(moved, fill=stroke, width=wide, joint="curve")

        self._shape(opacity, _around([p for part in points for p in part], wide), ink)

    def area(self, outline: Line, fill: str, opacity: float = 1.0) -> None:
        points = [_up(p) for p in outline]
        if len(points) > 2:
            around = _around(points, 1)
            self._shape(
                opacity, around, lambda d, at: d.polygon([(x - at[0], y - at[1]) for x, y in points], fill=fill)
            )

    def dot(self, x: float, y: float, radius: float, fill: str, opacity: float = 1.0) -> None:
        box = [(x - radius) * _SCALE, (y - radius) * _SCALE, (x + radius) * _SCALE, (y + radius) * _SCALE]
        self._shape(opacity, (box[0], box[1], box[2], box[3]), lambda d, at: d.ellipse(_moved(box, at), fill=fill))

    def text(
        self, x: float, y: float, text: str, fill: str, *, size: float = 11, anchor: Anchor = "start", turned: float = 0.0,
        bold: bool = False,
    ) -> None:  # fmt: skip
        font = _font(round(size * _SCALE))
        side = {"start": "l", "middle": "m", "end": "r"}[anchor]
        thick = _SCALE // 4 if bold else 0
        if not turned:
            spot = (x * _SCALE, y * _SCALE)
            ImageDraw.Draw(self.image).text(spot, text, fill=fill, font=font, anchor=f"{side}s", stroke_width=thick)
            return
        reach = int(font.getlength(text)) + 4 * _SCALE
        mask = Image.new("L", (2 * reach, 2 * reach))
        ImageDraw.Draw(mask).text((reach, reach), text, fill=255, font=font, anchor=f"{side}s", stroke_width=thick)
        mask = mask.rotate(turned, Image.Resampling.BICUBIC)
        self.image.paste(fill, (round(x * _SCALE) - reach, round(y * _SCALE) - reach), mask)

    def clip(self, x: float, y: float, width: float, height: float) -> None:
        box = (round(x * _SCALE), round(y * _SCALE), round((x + width) * _SCALE), round((y + height) * _SCALE))
        self._under = (self.image, box)
        self.image = self.image.copy()

    def unclip(self) -> None:
        if self._under is not None:
            under, box = self._under
            under.paste(self.image.crop(box), box[:2])
            self.image, self._under = under, None

    def _shape(self, opacity: float, box: tuple[float, float, float, float], ink: Any) -> None:
        if opacity >= 1:
            ink(ImageDraw.Draw(self.image), (0, 0))
            return
        left, top = max(0, int(box[0])), max(0, int(box[1]))
        right, bottom = min(self.image.width, int(box[2]) + 2), min(self.image.height, int(box[3]) + 2)
        if right <= left or bottom <= top:
            return
        part = self.image.crop((left, top, right, bottom))
        sheet = part.copy()
        ink(ImageDraw.Draw(sheet), (left, top))
        self.image.paste(Image.blend(part, sheet, opacity), (left, top))


def _up(point: tuple[float, float]) -> tuple[float, float]:
    return point[0] * _SCALE, point[1] * _SCALE


def _moved(box: list[float], at: tuple[float, float]) -> list[float]:
    return [box[0] - at[0], box[1] - at[1], box[2] - at[0], box[3] - at[1]]


def _around(points: list[tuple[float, float]], width: float) -> tuple[float, float, float, float]:
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    return min(xs) - width, min(ys) - width, max(xs) + width, max(ys) + width
