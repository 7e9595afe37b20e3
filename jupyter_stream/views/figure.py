"""The Bokeh document of a plot: axes and glyphs over empty sources. Data come to the page later, by `wire`."""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import bokeh
from bokeh.embed import json_item
from bokeh.models import (
    CategoricalAxis,
    ColumnDataSource,
    DatetimeAxis,
    DatetimeTickFormatter,
    FactorRange,
    Grid,
    HoverTool,
    LinearAxis,
    NumeralTickFormatter,
    PlainText,
    Range1d,
    Span,
)
from bokeh.plotting import figure

from jupyter_stream.views.picture import Axis, LayerKind, Picture

HEIGHT: Final = 270
BOKEH_VERSION: Final[str] = bokeh.__version__
_GLYPH_COLUMNS: Final = {
    "lines": ("xs", "ys", "color", "alpha"),
    "areas": ("xs", "ys", "color", "alpha"),
    "points": ("x", "y", "color", "alpha", "row"),
    "boxes": ("left", "right", "top", "bottom", "color", "alpha", "row"),
    "late": ("x", "y", "late"),
}


def structure(picture: Picture) -> tuple[object, ...]:
    """What makes another document necessary when it differs; data and ranges don't."""
    assert picture.x is not None and picture.y is not None
    return (
        _kinds(picture),
        picture.x.kind,
        picture.x.label,
        picture.y.kind,
        picture.y.label,
    )


def document(picture: Picture) -> dict[str, Any]:
    """The document as JSON for `Bokeh.embed.embed_item`; sources are named `layer0`, ..., the watermark `watermark`."""
    assert picture.x is not None and picture.y is not None
    return _document(_kinds(picture), _bare(picture.x), _bare(picture.y))


def _kinds(picture: Picture) -> tuple[LayerKind, ...]:
    """The layers of a plot; of small multiples those of one, as all have the same."""
    of = picture.panels[0][1] if picture.panels else picture
    return tuple(layer.kind for layer in of.layers)


def _bare(axis: Axis) -> Axis:
    return Axis(axis.label, axis.kind)


@lru_cache(maxsize=54)
def _document(layers: tuple[LayerKind, ...], x: Axis, y: Axis) -> dict[str, Any]:
    # cached: building one takes 0.12 s, most of it Bokeh's checks
    plot = figure(
        height=HEIGHT,
        sizing_mode="stretch_width",
        toolbar_location=None,
        tools="",
        x_axis_type=None,
        y_axis_type=None,
        x_range=_range(x),
        y_range=_range(y),
        background_fill_alpha=0,
        border_fill_alpha=0,
        outline_line_color=None,
        min_border_right=16,
        lod_threshold=None,
    )
    hovered = []
    for i, kind in enumerate(layers):
        source = ColumnDataSource({name: [] for name in _GLYPH_COLUMNS[kind]}, name=f"layer{i}")
        renderer = _glyph(plot, kind, source)
        if "row" in _GLYPH_COLUMNS[kind] or kind == "late":
            hovered.append(renderer)
    for axis, side in ((x, "below"), (y, "left")):
        drawn = _axis(axis)
        plot.add_layout(drawn, side)
        if axis.kind != "category":
            plot.add_layout(Grid(axis=drawn, dimension=0 if side == "below" else 1, level="underlay"))
    plot.add_layout(
        Span(dimension="height", line_dash="dashed", line_width=1.5, name="watermark", visible=False, location=0)
    )
    plot.add_tools(HoverTool(tooltips=None, renderers=hovered, mode="mouse"))
    item: dict[str, Any] = json_item(plot)
    return item


@lru_cache(maxsize=1)
def library() -> bytes:
    """BokehJS of the installed bokeh, gzipped: 0.35 MB instead of 1.3 MB, under the server's message limits."""
    source = Path(bokeh.__file__).parent / "server" / "static" / "js" / "bokeh.min.js"
    return gzip.compress(source.read_bytes(), 6)


def _range(axis: Axis) -> FactorRange | Range1d:
    return FactorRange(factors=list(axis.factors)) if axis.kind == "category" else Range1d(axis.low, axis.high)


def _axis(axis: Axis) -> Any:
    # PlainText: a name with $$ in it would be taken for TeX and a renderer fetched from the internet
    label = PlainText(text=axis.label)
    common: dict[str, Any] = {
        "axis_label": label, "axis_label_text_font_style": "normal", "axis_label_text_font_size": "12px",
        "major_label_text_font_size": "11px", "minor_tick_line_color": None, "axis_label_standoff": 6,
    }  # fmt: skip
    if axis.kind == "category":
        return CategoricalAxis(**common)
    if axis.kind == "time":
        ticks = DatetimeTickFormatter(
            microseconds="%H:%M:%S.%f", milliseconds="%H:%M:%S.%3N", seconds="%H:%M:%S", minsec="%H:%M:%S",
            minutes="%H:%M", hourmin="%H:%M", hours="%H:%M", days="%b %d", months="%b %Y", years="%Y",
            context=DatetimeTickFormatter(
                microseconds="%Y-%m-%d", milliseconds="%Y-%m-%d", seconds="%Y-%m-%d", minsec="%Y-%m-%d",
                minutes="%Y-%m-%d", hourmin="%Y-%m-%d", hours="%Y-%m-%d", days="%Y", months="", years="",
            ),
            context_which="start", hide_repeats=False,
        )  # fmt: skip
        return DatetimeAxis(formatter=ticks, **common)
    return LinearAxis(formatter=NumeralTickFormatter(format="0,0.[0000]"), **common)


def _glyph(plot: Any, kind: LayerKind, source: ColumnDataSource) -> Any:
    if kind == "lines":
        return plot.multi_line(
            "xs", "ys", source=source, line_color="color", line_alpha="alpha", line_width=2, line_join="round"
        )
    if kind == "areas":
        return plot.patches("xs", "ys", source=source, fill_color="color", fill_alpha="alpha", line_color=None)
    if kind == "points":
        return plot.scatter(
            "x", "y", source=source, size=5, fill_color="color", fill_alpha="alpha", line_color=None, hit_dilation=2
        )
    if kind == "late":
        return plot.scatter(
            "x",
            "y",
            source=source,
            marker="x",
            size=9,
            line_width=2.2,
            hit_dilation=1.5,
            level="overlay",
            name="late",  # drawn in the page's ink, which no series has
        )
    return plot.quad(
        left="left", right="right", top="top", bottom="bottom", source=source, fill_color="color", fill_alpha="alpha",
        line_color=None,
    )  # fmt: skip
