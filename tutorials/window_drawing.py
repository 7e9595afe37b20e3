"""Windows drawn while rows come in, for tutorial 2: sliders for the clause and for the disorder, and what the engine says.

What is drawn is what the engine says and holds after each row (see `window_frames`). Nothing about windows is worked out here
but where to draw them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from html import escape
from typing import Any

import ipywidgets as widgets
from bokeh.layouts import column
from bokeh.models import ColumnDataSource, FixedTicker, Range1d
from drawing import BLUE, GREY, ORANGE, PURPLE, RED, Drawing, legend_above, plain_figure
from window_frames import KINDS, ROWS, Frame, run, times

OFF = -1e6
"""Off the picture. Every source has a row there, since a legend shows nothing for an empty one."""


def lanes(extents: list[tuple[float, float, Any]]) -> list[int]:
    """A lane for each extent, so that none hides another: the first that is free."""
    busy: list[float] = []
    found = []
    for start, end, _ in extents:
        lane = next((i for i, until in enumerate(busy) if until <= start + 1e-9), len(busy))
        busy[lane : lane + 1] = [end]
        found.append(lane)
    return found


class Explorer:
    """The picture and its sliders.

    Args:
        kind: one of `KINDS`.
        disorder: seconds by which rows are held up at most, at first.
        patience: the watermark's delay in seconds, at first.
    """

    def __init__(self, kind: str, disorder: float = 4.0, patience: float = 4.0) -> None:
        self.kind = KINDS[kind]
        self._lock = threading.Lock()  # sliders may be heard on several threads
        self.sliders: dict[str, Any] = {}
        for name, knob in (("range", self.kind.range), ("slide", self.kind.slide)):
            if knob is not None:
                self.sliders[name] = widgets.IntSlider(
                    knob.first, knob.least, knob.most, description=f"{knob.label}, {knob.unit}"
                )
        self.sliders["disorder"] = widgets.FloatSlider(disorder, min=0, max=12, step=0.5, description="disorder, s")
        if not self.kind.by_number:
            self.sliders["patience"] = widgets.FloatSlider(
                patience, min=0, max=12, step=0.5, description="watermark, s"
            )
        for slider in self.sliders.values():
            slider.style.description_width = "92px"
            slider.layout.width = "380px"  # two by two on a laptop, where all of it is to be seen at once
        self.arrived = widgets.IntSlider(ROWS * 2 // 3, 0, ROWS + 1, description="rows so far", readout=False)
        self.arrived.style.description_width = "92px"
        self.arrived.layout.width = "520px"
        self.play = widgets.Play(value=self.arrived.value, min=0, max=ROWS + 1, interval=350, show_repeat=False)
        widgets.jslink((self.play, "value"), (self.arrived, "value"))
        self.query, self.reading = widgets.HTML(), widgets.HTML()
        self.drawing = self._figure()
        self._run()
        for slider in self.sliders.values():
            slider.observe(self._locked(self._run), "value")
        self.arrived.observe(self._locked(self._draw), "value")
        controls = list(self.sliders.values())
        self.box = widgets.VBox(
            [
                self.query,
                widgets.HBox(controls, layout=widgets.Layout(flex_flow="row wrap")),
                widgets.HBox([self.play, self.arrived]),
                self.reading,
                self.drawing,
            ]
        )

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self.box)

    def _locked(self, work: Callable[[], None]) -> Callable[[object], None]:
        def locked(_change: object) -> None:
            with self._lock:
                work()

        return locked

    # -- the engine --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        value = {name: s.value for name, s in self.sliders.items()}
        self.at = times(value["disorder"])
        query, self.frames = run(
            self.kind, value.get("range", 0), value.get("slide", 0), value.get("patience", 0), self.at
        )
        self.query.value = f"<pre style='margin:2px 0 6px;font-size:13px'>{escape(query)}</pre>"
        self._draw()

    # -- the picture -------------------------------------------------------------------------------------------------

    def _figure(self) -> Drawing:
        self._x = Range1d(0, 60, name="x")
        time, number = "event time, s", "arrival number"
        across, up = (number, time) if self.kind.by_number else (time, number)
        top = plain_figure("", up, height=225, number="0", x_range=self._x, y_range=Range1d(0, ROWS + 1, name="up"))
        below = plain_figure(
            across, "extents", height=225, number="0", x_range=self._x, y_range=Range1d(5, -2, name="lanes")
        )
        for plot in (top, below):
            plot.min_border_left = 64
        below.yaxis.major_tick_line_color = None
        top.xaxis.major_label_text_font_size = "0px"
        top.xaxis.axis_label = None
        below.yaxis.ticker = FixedTicker(ticks=[-1] if self.kind.parts else [])
        below.yaxis.major_label_overrides = {-1: self.kind.parts}
        below.ygrid.visible = False

        def source(name: str, *columns: str) -> ColumnDataSource:
            return ColumnDataSource({c: [OFF] if c != "text" else [""] for c in columns}, name=name)

        over = top.quad(
            left="left", right="right", top="top", bottom="bottom", source=source("over", "left", "right", "top", "bottom"),
            fill_color=BLUE, fill_alpha=0.10, line_color=None,
        )  # fmt: skip
        coming = top.scatter("x", "y", source=source("coming", "x", "y"), size=7, fill_color=None, line_color=GREY)
        here = top.scatter("x", "y", source=source("here", "x", "y"), size=8, color=BLUE)
        late = top.scatter(
            "x", "y", source=source("late", "x", "y"), size=10, marker="x", line_color=RED, line_width=2.5
        )
        newest = top.scatter(
            "x", "y", source=source("newest", "x", "y"), size=15, fill_color=None, line_color=PURPLE, line_width=2.5
        )
        line = top.line("x", "y", source=source("watermark", "x", "y"), line_width=2, line_dash="dashed", color=GREY)
        line.tags = ["ink"]
        now = below.line("x", "y", source=source("now", "x", "y"), line_width=2, line_dash="dashed", color=GREY)
        now.tags = ["ink"]
        for plot, name in ((top, "newest above"), (below, "newest below")):
            plot.line("x", "y", source=source(name, "x", "y"), line_width=1.5, line_color=PURPLE, line_alpha=0.7)
        bars = {}
        for name, colour, alpha in (("final", BLUE, 0.75), ("open", ORANGE, 0.55)):
            bars[name] = below.quad(
                left="left", right="right", top="top", bottom="bottom",
                source=source(name, "left", "right", "top", "bottom"), fill_color=colour, fill_alpha=alpha, line_color=None,
            )  # fmt: skip
        held = below.quad(
            left="left", right="right", top="top", bottom="bottom", source=source("held", "left", "right", "top", "bottom"),
            fill_color=None, line_color=PURPLE, line_width=2.5,
        )  # fmt: skip
        parts = below.quad(
            left="left", right="right", top="top", bottom="bottom", source=source("parts", "left", "right", "top", "bottom"),
            fill_color=GREY, fill_alpha=0.7, line_color="white", line_width=1,
        )  # fmt: skip
        below.text(
            "x", "y", "text", source=source("counts", "x", "y", "text"), text_align="center", text_baseline="middle",
            text_font_size="11px",
        )  # fmt: skip
        items = [("arrived", [here]), ("the newest row", [newest]), ("still to come", [coming])]
        if not self.kind.by_number:
            items += [("late row", [late]), ("watermark", [line]), ("nothing more comes from here", [over])]
        legend_above(top, items)
        shown = [("final", [bars["final"]])]
        if not self.kind.over:
            shown.append(("still open", [bars["open"]]))
        shown.append(("holds the newest row", [held]))
        if self.kind.parts:
            shown.append((f"{self.kind.parts} in memory", [parts]))
        legend_above(below, shown)
        return Drawing(column(top, below, sizing_mode="stretch_width"), 450)

    def _draw(self) -> None:
        shown = self.frames[self.arrived.value]
        ended = self.arrived.value == ROWS + 1
        n = shown.arrived
        number = list(range(1, ROWS + 1))
        xs, ys = (number, self.at) if self.kind.by_number else (self.at, number)
        low, high = -1.0, max([*xs, *(end for _, end, _ in self.frames[-1].final)]) + 1
        top = max(ys) * 1.06
        newest = n - 1 if n and not ended else None
        mark = None if self.kind.by_number else shown.watermark

        def dots(which: list[int]) -> dict[str, list[float]]:
            return {"x": [*(xs[i] for i in which), OFF], "y": [*(ys[i] for i in which), OFF]}

        def boxes(which: list[tuple[float, float, float]], half: float, gap: float) -> dict[str, list[float]]:
            return {
                "left": [*(start + gap for start, _, _ in which), OFF],
                "right": [*(end - gap for _, end, _ in which), OFF],
                "top": [*(lane - half for _, _, lane in which), OFF],
                "bottom": [*(lane + half for _, _, lane in which), OFF],
            }

        bars = self._bars(shown, low)
        # all the extents there will ever be decide the height, so that bars stay where they are
        every = [bar[:3] for bar in self._bars(self.frames[-1], low)]
        most = max([2, *(bar[3] + 1 for bar in bars), *(lane + 1 for lane in lanes(every))])
        gap = (high - low) / 800
        known = {e[:2] for e in self.frames[n - 1].final} if n else set()
        fresh = [b for b in bars if b[4] or b[:2] not in known]
        holding = [] if newest is None else [b for b in fresh if self._holds(b, xs[newest])]
        data: dict[str, dict[str, list[Any]]] = {
            "coming": dots(list(range(n, ROWS))),
            "here": dots([i for i in range(n) if i + 1 not in shown.late]),
            "late": dots([i for i in range(n) if i + 1 in shown.late]),
            "newest": dots([] if newest is None else [newest]),
            "newest above": {"x": [], "y": []} if newest is None else {"x": [xs[newest]] * 2, "y": [0, ys[newest]]},
            "newest below": {"x": [], "y": []} if newest is None else {"x": [xs[newest]] * 2, "y": [-2, most]},
            "final": boxes([(a, b, lane) for a, b, _, lane, is_open in bars if not is_open], 0.4, gap),
            "open": boxes([(a, b, lane) for a, b, _, lane, is_open in bars if is_open], 0.4, gap),
            "held": boxes([(a, b, lane) for a, b, _, lane, _ in holding], 0.4, gap),
            "parts": boxes([(a, b, -1) for a, b in shown.parts], 0.4, 0),
            "counts": {
                "x": [(max(a, low) + b) / 2 for a, b, *_ in bars],
                "y": [lane for *_, lane, _ in bars],
                "text": [str(count) for _, _, count, *_ in bars],
            },
            "watermark": {"x": [OFF], "y": [OFF]},
            "over": boxes([], 0, 0),
            "now": {"x": [], "y": []},
        }
        if mark is not None:
            passed = [f for f in self.frames[1 : n + 1] if f.watermark is not None]
            data["watermark"] = {
                "x": [x for f in passed for x in (f.watermark, f.watermark)],
                "y": [y for f in passed for y in (f.arrived, f.arrived + 1)],
            }
            data["over"] = {"left": [low], "right": [mark], "top": [top], "bottom": [n + 0.5]}
            data["now"] = {"x": [mark, mark], "y": [-2, most]}
        self.drawing.show(
            data, {"x": (low, high), "up": (0, top), "lanes": (most - 0.4, -1.8 if self.kind.parts else -0.8)}
        )
        self.reading.value = self._words(shown, ended)

    def _bars(self, frame: Frame, low: float) -> list[tuple[float, float, int, int, bool]]:
        """Extents as (start, end, count, lane, whether still open)."""
        extents = [(low if a is None else a, b, c, False) for a, b, c in frame.final]
        extents += [(low if a is None else a, b, c, True) for a, b, c in frame.open]
        extents.sort(key=lambda e: (e[0], e[1]))
        where = lanes([e[:3] for e in extents])
        return [(a, b, c, lane, is_open) for (a, b, c, is_open), lane in zip(extents, where, strict=True)]

    def _holds(self, bar: tuple[float, float, int, int, bool], x: float) -> bool:
        closed = self.kind.by_number or self.kind.parts == "bins"  # (start, end]; otherwise [start, end)
        return bar[0] < x <= bar[1] if closed else bar[0] <= x < bar[1]

    def _words(self, shown: Frame, ended: bool) -> str:
        if ended:
            said = f"<b>The stream has ended</b>: all {len(shown.final)} extents are final."
        elif not shown.arrived:
            said = "No row has come yet. Press play, or pull <i>rows so far</i>."
        else:
            said = f"<b>Row {shown.arrived}</b> came, with event time {self.at[shown.arrived - 1]:g} s."
        facts = [f"{len(shown.final)} extents final"]
        if not self.kind.over:
            facts[0] += f", {len(shown.open)} open"
        if shown.watermark is not None and not self.kind.by_number:
            facts.insert(0, f"watermark {shown.watermark:g} s")
        if not self.kind.by_number:
            facts.append(f"late rows {len(shown.late)}")
        facts.append(f"state {shown.bytes:,} bytes")
        if self.kind.parts and not ended:
            facts.append(f"{self.kind.parts} {len(shown.parts)}")
        known = {"partials": "partials", "waiting_rows": "rows that wait", "kept_rows": "rows kept"}
        facts += [f"{known[k]} {v}" for k, v in shown.control.items() if k in known]
        return f"<div style='font-size:13px'>{said} &nbsp; {' · '.join(facts)}</div>"


def explore(kind: str, **options: float) -> Explorer:
    """The picture of one kind of window, one of `KINDS`; the options are those of `Explorer`."""
    return Explorer(kind, **options)
