"""A Bokeh drawing under a cell that Python can redraw at any time: for figures that live views, one query each, don't cover.

BokehJS comes from the installed bokeh package, once per page, as it does for live views, so nothing is fetched from the internet.
Colours of text and lines follow JupyterLab's theme, light or dark.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import traitlets
from bokeh.embed import json_item
from bokeh.models import (
    BasicTickFormatter,
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    Legend,
    LegendItem,
    LogAxis,
    NumeralTickFormatter,
    Range1d,
    Span,
    UIElement,
)
from bokeh.plotting import figure

from jupyter_stream.views.colours import PALETTE
from jupyter_stream.views.figure import library
from jupyter_stream.views.widget import BOKEH_JS, HEARD_JS, PageWidget

BLUE, ORANGE, RED, GREY, PURPLE = PALETTE[0], PALETTE[1], PALETTE[2], PALETTE[3], PALETTE[4]
"""Told apart with any colour vision; see `jupyter_stream.views.colours`."""

_PAGE = r"""
let copies = 0;

// every view has models of its own: a second view of the same document needs other ids
function fresh(item) {
  copies += 1;
  const mark = `-drawing-${copies}`;
  const renamed = (value) => {
    if (Array.isArray(value)) return value.map(renamed);
    if (!value || typeof value !== "object") return value;
    const marked = (k, v) => ((k === "id" || k === "root_id") && typeof v === "string" ? v + mark : renamed(v));
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, marked(k, v)]));
  };
  const copy = renamed(item);
  copy.doc.root_ids = copy.doc.root_ids?.map((id) => id + mark);
  return copy;
}

function colour(figures, el) {
  const style = getComputedStyle(document.body);
  const read = (name, other) => style.getPropertyValue(name).trim() || other;
  // VS Code's first: there the widgets' own style sheet sets JupyterLab's to those of a light page
  const ink = read("--vscode-foreground", read("--jp-content-font-color1", getComputedStyle(el).color));
  const faint = read("--vscode-descriptionForeground", read("--jp-content-font-color2", ink));
  const grid = read("--vscode-panel-border", read("--jp-border-color2", "#8884"));
  for (const figure of figures) {
    for (const axis of [...figure.below, ...figure.left, ...figure.right]) {
      if (!("axis_label" in axis)) continue;
      axis.setv({ major_label_text_color: ink, axis_label_text_color: ink, axis_line_color: faint });
      if (axis.major_tick_line_color !== null) axis.setv({ major_tick_line_color: faint });
    }
    for (const part of [...figure.center, ...figure.above, ...figure.right]) {
      if ("grid_line_color" in part) part.setv({ grid_line_color: grid });
      if ("label_text_color" in part) part.setv({ label_text_color: ink, background_fill_alpha: 0, border_line_color: null });
      if ("location" in part && "dimension" in part) part.setv({ line_color: ink });
    }
    for (const renderer of figure.renderers) {
      if (renderer.glyph && "text" in renderer.glyph) renderer.glyph.setv({ text_color: { value: ink } });
      if (renderer.tags?.includes("ink")) renderer.glyph.setv({ line_color: { value: ink } });
      if ("location" in renderer && "dimension" in renderer) renderer.setv({ line_color: ink });
    }
  }
}

function fill(doc, change) {
  for (const [name, data] of Object.entries(change.data ?? {})) {
    const source = doc.get_model_by_name(name);
    if (source) source.data = data;
  }
  for (const [name, ends] of Object.entries(change.ranges ?? {})) {
    doc.get_model_by_name(name)?.setv({ start: ends[0], end: ends[1] });
  }
}

export default {
  initialize({ model }) {
    hear(model);
    const version = model.get("bokeh");
    const slot = bokehSlot(version);
    const taken = (message, buffers) => { if (message.do === "drawing library") takeLibrary(version, buffers[0]); };
    model.on("msg:custom", taken);
    if (!slot.taken && Date.now() - slot.asked > 5000) { slot.asked = Date.now(); model.send({ say: "drawing library" }); }
    // the first message may still go to the shell of the running cell; by then there is another
    const again = setTimeout(() => { if (!slot.taken) model.send({ say: "drawing library" }); }, 1000);
    return () => { clearTimeout(again); model.off("msg:custom", taken); };
  },
  render({ model, el }) {
    const home = document.createElement("div");
    home.className = "jupyter-stream-drawing";
    home.style.minHeight = `${model.get("height")}px`;
    el.append(home);
    let views = [], doc = null, figures = [];
    const refill = () => { if (doc) fill(doc, model.get("change")); };
    const repaint = () => { if (doc) colour(figures, home); };
    const themed = new MutationObserver(repaint);
    bokehSlot(model.get("bokeh")).ready.then(async (Bokeh) => {
      const found = await Bokeh.embed.embed_item(fresh(model.get("item")), home);
      views = Array.isArray(found) ? found : [...(found.roots ?? found)];
      const root = views[0].model;
      doc = root.document;
      figures = root.children ?? [root];
      refill();
      repaint();
      home.dataset.drawn = "yes";
    });
    themed.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
    model.on("change:change", refill);
    return () => { themed.disconnect(); model.off("change:change", refill); for (const view of views) view.remove(); };
  },
};
"""


class Drawing(PageWidget):
    """A Bokeh figure, or a column of them.

    Args:
        root: the figure; sources and ranges that `show` is to change have names.
        height: pixels kept free until it is drawn.
    """

    _esm = HEARD_JS + BOKEH_JS + _PAGE
    item = traitlets.Dict().tag(sync=True)
    change = traitlets.Dict().tag(sync=True)
    height = traitlets.Int(300).tag(sync=True)

    def __init__(self, root: UIElement, height: int = 300) -> None:
        super().__init__(item=json_item(root), height=height)
        self.on_msg(self._asked)

    def _asked(self, _widget: object, message: dict[str, Any], _buffers: object) -> None:
        if message.get("say") == "drawing library":
            self.send({"do": "drawing library"}, [library()])

    def show(
        self, data: Mapping[str, Mapping[str, Sequence[Any]]], ranges: Mapping[str, tuple[float, float]] | None = None
    ) -> None:
        """Other columns for the named sources, other ends for the named ranges."""
        self.change = {
            "data": {k: {c: list(v) for c, v in d.items()} for k, d in data.items()},
            "ranges": {k: list(v) for k, v in (ranges or {}).items()},
        }


def plain_figure(x: str, y: str, *, height: int = 300, number: str = "0,0.[00]", **options: Any) -> figure:
    """A figure without decoration, to fit any theme.

    Args:
        x: label of the axis, with its unit.
        y: the same, upwards.
        height: pixels.
        number: how numbers on the axes are written (numeral.js).
        **options: of `bokeh.plotting.figure`.
    """
    plot = figure(
        height=height, sizing_mode="stretch_width", toolbar_location=None, tools="", x_axis_label=x, y_axis_label=y,
        background_fill_alpha=0, border_fill_alpha=0, outline_line_color=None, min_border_right=20, **options,
    )  # fmt: skip
    for axis in (*plot.xaxis, *plot.yaxis):
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = "12px"
        axis.major_label_text_font_size = "11px"
        axis.minor_tick_line_color = None
        if isinstance(axis.formatter, BasicTickFormatter):
            axis.formatter = NumeralTickFormatter(format=number)
    return plot


def legend_above(plot: figure, items: Sequence[tuple[str, Sequence[Any]]]) -> None:
    """A legend in one line above the plot, so that it hides nothing."""
    entries = [LegendItem(label=label, renderers=list(renderers)) for label, renderers in items]
    legend = Legend(
        items=entries, orientation="horizontal", location="left", border_line_color=None, background_fill_alpha=0,
        label_text_font_size="11px", padding=2, spacing=14, margin=0,
    )  # fmt: skip
    plot.add_layout(legend, "above")


MARKERS = ("circle", "square", "triangle", "diamond", "inverted_triangle")
DASHES = ("solid", "dashed", "dotted", "dotdash", "dashdot")


class Chart(Drawing):
    """A chart of several series, each with its own colour, marker and dash, that grows point by point.

    Args:
        series: their names, the one that matters first.
        x: label of the axis, with its unit.
        y: the same, upwards.
        log: which axes are logarithmic: "", "x", "y" or "xy"; the others begin at zero.
        links: whether points are joined.
        level: where to draw a line across; None for none.
        height: pixels.
    """

    def __init__(
        self,
        series: Sequence[str],
        x: str,
        y: str,
        *,
        log: str = "",
        links: bool = True,
        level: float | None = None,
        height: int = 300,
    ) -> None:
        kinds = {f"{axis}_axis_type": "log" if axis in log else "linear" for axis in "xy"}
        self._fitted = {axis: Range1d(0, 1, name=f"{axis} range") for axis in "xy" if axis not in log}
        ranges = {f"{axis}_range": fitted for axis, fitted in self._fitted.items()}
        plot = plain_figure(x, y, height=height, number="0,0.[0000]", **kinds, **ranges)
        for axis in (*plot.xaxis, *plot.yaxis):
            axis.axis_label_standoff = 8
            if isinstance(axis, LogAxis):
                axis.ticker = FixedTicker(ticks=[m * 10.0**k for k in range(-4, 9) for m in (1, 3)])
                axis.formatter = NumeralTickFormatter(format="0,0.[0000]")
        if level is not None:
            plot.add_layout(Span(location=level, dimension="width", line_dash="dashed", line_width=1))
        entries = []
        for i, name in reversed(list(enumerate(series))):  # the first on top
            # a legend shows nothing for a source without rows
            source = ColumnDataSource({"x": [math.nan], "y": [math.nan], "label": [""]}, name=name)
            colour, drawn = (BLUE, ORANGE, RED, PURPLE, GREY)[i % 5], []
            if links:
                drawn.append(plot.line("x", "y", source=source, color=colour, line_width=2, line_dash=DASHES[i % 5]))
            size = (12 if i == 0 else 9) if links else 4
            dots = plot.scatter("x", "y", source=source, size=size, marker=MARKERS[i % 5], color=colour)
            drawn.append(dots)
            plot.text("x", "y", "label", source=source, x_offset=4, y_offset=-7, text_font_size="11px")
            exactly = [("", name), (x, "@x{0,0.[0000]}"), (y, "@y{0,0.[0000]}")]
            plot.add_tools(HoverTool(renderers=[dots], tooltips=exactly))
            entries.append((name, drawn))
        legend_above(plot, entries[::-1])
        super().__init__(plot, height)
        self.points: dict[str, dict[str, list[Any]]] = {name: {"x": [], "y": [], "label": []} for name in series}

    def add(self, series: str, x: float, y: float, label: str = "") -> None:
        """A point more; the chart shows it at once."""
        self.add_all(series, [x], [y], [label])

    def add_all(self, series: str, xs: Iterable[float], ys: Iterable[float], labels: Iterable[str] = ()) -> None:
        """Points more."""
        points = self.points[series]
        points["x"] += map(float, xs)
        points["y"] += map(float, ys)
        points["label"] += labels
        points["label"] += [""] * (len(points["x"]) - len(points["label"]))
        ranges = {f"{axis} range": self._fit(axis) for axis in self._fitted}
        self.show({name: points for name, points in self.points.items() if points["x"]}, ranges)

    def _fit(self, axis: str) -> tuple[float, float]:
        """From a little below zero to a little above the largest, with room for labels."""
        values = [value for points in self.points.values() for value in points[axis]]
        high = max(values) or 1.0
        return min(0.0, *values) - 0.04 * high, high * (1.08 if axis == "x" else 1.15)
