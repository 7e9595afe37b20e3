"""Figures of several lines or bars, drawn on one page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

COLOURS: Final = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b")
PLAIN: Final = "#7f7f7f"
"""Of first come, first served."""


@dataclass(frozen=True)
class Figure:
    """A figure.

    Attributes:
        title: with the number it has in the paper.
        x: what the x axis says.
        y: what the y axis says.
        lines: points by name; where x is text they are bars.
    """

    title: str
    x: str
    y: str
    lines: dict[str, list[tuple[float | str, float]]]


def draw(figures: list[Figure], title: str, file: Path) -> None:
    """Write them on a page that stays interactive, in rows of three."""
    from bokeh.layouts import gridplot
    from bokeh.plotting import figure, output_file, save

    file.parent.mkdir(parents=True, exist_ok=True)
    plots = []
    for each in figures:
        names = [x for points in each.lines.values() for x, _ in points]
        bars = bool(names) and isinstance(names[0], str)
        x_range = {"x_range": list(dict.fromkeys(names))} if bars else {}
        plot = figure(
            title=f"Figure {each.title}", x_axis_label=each.x, y_axis_label=each.y, width=480, height=300, **x_range
        )
        colours = iter(COLOURS)
        for name, points in each.lines.items():
            x, y = zip(*points, strict=True)
            colour = PLAIN if name == "first come" else next(colours)
            if bars:
                plot.vbar(x=x, top=y, width=0.6, color=colour)
            else:
                plot.line(x, y, legend_label=name, color=colour, line_width=2)
                plot.scatter(x, y, legend_label=name, color=colour, size=6)
        plot.y_range.start = 0
        if not bars:
            plot.legend.label_text_font_size = "9px"
            plot.add_layout(plot.legend[0], "right")
        plots.append(plot)
    output_file(file, title=title, mode="inline")
    save(gridplot([plots[at : at + 3] for at in range(0, len(plots), 3)], toolbar_location=None))
