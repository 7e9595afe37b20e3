"""A query's chart as a file of its own: PNG, SVG, or a page that stays interactive without a kernel.

The page is the live view's own code with everything it was sent written into it: pointing, zooming, sorting and hiding series
work as they do in a notebook. It holds BokehJS and needs no network.
"""

from __future__ import annotations

import base64
import json
import time
from html import escape
from typing import Final

from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.errors import QueryError
from jupyter_stream.views import message, strip
from jupyter_stream.views.figure import BOKEH_VERSION, library
from jupyter_stream.views.paper import THEMES
from jupyter_stream.views.picture import Picture
from jupyter_stream.views.png import png
from jupyter_stream.views.svg import svg
from jupyter_stream.views.widget import LIVE_CSS, LIVE_JS

FORMATS: Final = {"png": "image/png", "svg": "image/svg+xml", "html": "text/html"}
"""What a chart can be saved as, by the file's ending, with its media type."""
LIVE_CODE: Final = LIVE_JS.replace("export default {", "const live = {")
"""The live view's code for a page of its own."""
_DARK: Final = (
    "--jp-ui-font-color1:#d7dade;--jp-ui-font-color2:#9aa2ab;--jp-layout-color0:#111418;--jp-layout-color2:#2a3038;"
    "--jp-border-color1:#4a525c;--jp-border-color2:#33383f;background:#111418;color-scheme:dark"
)
_LIGHT: Final = "background:#fff;color-scheme:light"


def content(snapshot: Snapshot, drawn: Picture | None, wrong: str | None, form: str, theme: str) -> bytes:
    """The bytes of the file.

    Raises:
        QueryError: there is nothing to draw.
    """
    if wrong is not None:
        raise QueryError(wrong)
    if form == "html":
        return page(snapshot, drawn, theme).encode()
    if drawn is None:
        raise QueryError(
            f"{snapshot.name} has no answer yet, so there is nothing to draw", hint="Save it once there is a row."
        )
    return png(drawn, THEMES[theme]) if form == "png" else svg(drawn, THEMES[theme]).encode()


def page(snapshot: Snapshot, drawn: Picture | None, theme: str) -> str:
    """The interactive page."""
    head = message.head(snapshot, drawn, None, (0.0, 0.0))
    news = message.PageState().news(head, drawn, fresh=True)
    assert news is not None
    said, buffers = news
    spoken = {
        "message": said,
        "buffers": [base64.b64encode(b).decode() for b in buffers],
        "version": BOKEH_VERSION,
        "library": base64.b64encode(library()).decode() if drawn is not None and drawn.kind == "plot" else None,
    }
    # inside a script element only "<" could end it; JSON reads \u003c as the same
    data = json.dumps(spoken).replace("<", "\\u003c")
    title, line = escape(snapshot.name), escape(strip.summary(snapshot, time.time()))
    return shell(
        title,
        theme,
        f"""<div id="view"></div><p class="jupyter-stream-live">{line}</p>
<script type="application/json" id="said">{data}</script>
<script type="module">
{LIVE_CODE}
const said = JSON.parse(document.getElementById("said").textContent);
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const calls = [];
const model = {{
  get: (name) => ({{ key: "page", bokeh: said.version, still: true }})[name],
  send: () => {{}}, on: (_event, call) => calls.push(call), off: () => {{}},
}};
live.initialize({{ model }});
live.render({{ model, el: document.getElementById("view") }});
if (said.library) takeLibrary(said.version, bytes(said.library));
const buffers = said.buffers.map((text) => new DataView(bytes(text).buffer));
for (const call of calls) call(said.message, buffers);
</script>""",
    )


def shell(title: str, theme: str, content: str, *, body: str = "") -> str:
    """A page around a live view.

    Args:
        title: its title, as HTML.
        theme: `light`, `dark`, or `auto` as the reader's browser.
        content: what stands in its body, as HTML.
        body: attributes of that element, as HTML.
    """
    colours = {
        "light": f"body{{{_LIGHT}}}",
        "dark": f"body{{{_DARK}}}",
        "auto": f"body{{{_LIGHT}}}@media(prefers-color-scheme:dark){{body{{{_DARK}}}}}",
    }[theme]
    return f"""<!doctype html>
<html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<style>{colours} body{{margin:16px auto;max-width:1100px;padding:0 12px}}
{LIVE_CSS}</style></head><body {body}>
{content}</body></html>
"""
