"""The ipywidget a live view stands on: a key, and messages. No data in synced traits; those would bloat saved files."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

import anywidget
import traitlets

from jupyter_stream.views.colours import NIGHT
from jupyter_stream.views.figure import BOKEH_VERSION

Work: TypeAlias = Callable[[], int]
"""What the view thread is to do; gives the bytes it sent."""
_HERE = Path(__file__).parent
HEARD_JS: Final = (_HERE / "heard.js").read_text(encoding="utf-8")
"""Gives a widget's module `hear(model)`, to be called first: then no message is lost to a page that was busy while it loaded."""
BOKEH_JS: Final = (_HERE / "bokeh.js").read_text(encoding="utf-8")
"""Gives a widget's module `bokehSlot(version).ready`, BokehJS once it is there, and `takeLibrary(version, bytes)`."""
LIVE_JS: Final = (
    f"const NIGHT = {json.dumps(NIGHT)}; // what stands for some colours on dark pages\n"
    + HEARD_JS
    + BOKEH_JS
    + "".join((_HERE / f"{part}.js").read_text("utf-8") for part in ("table", "plot", "live"))
)
LIVE_CSS: Final = (_HERE / "live.css").read_text(encoding="utf-8")


class PageWidget(anywidget.AnyWidget):  # type: ignore[misc] # anywidget publishes no types
    """A widget that draws with Bokeh, and whose page is heard while a cell runs."""

    bokeh = traitlets.Unicode(BOKEH_VERSION).tag(sync=True)
    own_id = traitlets.Unicode().tag(sync=True)
    """By which the page finds its end among the notebook's models."""

    def __init__(self, **traits: Any) -> None:
        own = uuid.uuid4().hex
        super().__init__(model_id=own, own_id=own, **traits)
        # ipykernel 7.4 sends a page's answers to the shell that last wrote to the comm. Our writer is a thread, which counts as
        # the main shell, so that buttons would wait for the running cell. The page's own choice, its subshell, doesn't.
        if self.comm is not None:
            self.comm._reply_subshell_for = lambda _data, chosen: chosen

    @property
    def bundle(self) -> dict[str, Any]:
        """What to display. No text beside it: the saved picture under it says the same better."""
        view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
        return {"application/vnd.jupyter.widget-view+json": view}


class LiveWidget(PageWidget):
    """The kernel's end. Made on the thread that shows it; everything afterwards is sent by the view thread alone."""

    _esm = LIVE_JS
    _css = LIVE_CSS
    key = traitlets.Unicode().tag(sync=True)
    panels = traitlets.Int(0).tag(sync=True)
    """How many views it shows side by side; 0 for one that is no dashboard."""


class PageChannel:
    """A view's line to its page: a widget of its own, or one panel of a dashboard's.

    Args:
        widget: the widget.
        panel: the panel's number; None for the whole widget.
    """

    def __init__(self, widget: PageWidget, panel: int | None = None) -> None:
        self.widget = widget
        self._panel = panel

    def send(self, message: dict[str, Any], buffers: list[bytes] | None = None) -> None:
        """Send a message to the page."""
        self.widget.send(message if self._panel is None else {**message, "panel": self._panel}, buffers)

    def listen(self, hear: Callable[[dict[str, Any]], None]) -> None:
        """Call `hear` with each message from the page. It runs on whatever thread the kernel takes comm messages on."""

        def heard(_widget: object, content: object, _buffers: object) -> None:
            if isinstance(content, dict) and content.get("panel") == self._panel:
                hear(content)

        self.widget.on_msg(heard)
