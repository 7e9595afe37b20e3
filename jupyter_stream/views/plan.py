"""The plan view: a query's operators drawn live, with what flows between them; a click on one looks into it.

Every box is an operator, a queue with its source, or the answers (the query plan execution visualizer of `stream-overview` §4.1,
and its run-time controls, §4.3). One view in one output cell; the view thread calls it. Not for the drawing itself.
"""

from __future__ import annotations

import base64
import contextlib
import time
import uuid
import weakref
from html import escape
from pathlib import Path
from typing import Any, Final

import polars as pl
import traitlets

from jupyter_stream.core.diagram import Attribute, Diagram, Node, Plannable
from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.errors import StreamError
from jupyter_stream.views import output, strip
from jupyter_stream.views.options import ViewOptions
from jupyter_stream.views.plan_drawing import Pace, svg
from jupyter_stream.views.readers import Readers
from jupyter_stream.views.saved import LIVE, MARK, STYLE
from jupyter_stream.views.widget import HEARD_JS, PageChannel, PageWidget, Work
from jupyter_stream.views.words import cells, number, size

EVERY: Final = 0.5
"""Seconds between pictures: rates want some time to be measured over."""
SHOWN_ROWS: Final = 12
_HERE: Final = Path(__file__).parent


class PlanWidget(PageWidget):
    """The kernel's end: a key, and messages."""

    _esm = HEARD_JS + (_HERE / "plan.js").read_text(encoding="utf-8")
    _css = (_HERE / "plan.css").read_text(encoding="utf-8")
    key = traitlets.Unicode().tag(sync=True)
    live_class = traitlets.Unicode(LIVE).tag(sync=True)


class PlanView:
    """A query's plan in one output cell.

    Args:
        viewable: the query.
    """

    def __init__(self, viewable: Plannable) -> None:
        self.options = ViewOptions("none", last=1)
        self.name = viewable.name
        self.readers = Readers()
        self.ended = False
        self._query = weakref.ref(viewable)  # its results can be freed while a plan of it is on some page
        self.widget = PlanWidget(key=uuid.uuid4().hex)
        self.line = PageChannel(self.widget)
        self._display_id = f"jupyter-stream-{self.widget.key}"
        self._diagram = viewable.diagram()
        self._summary, self._kept = _summaries(viewable.snapshot(1))
        self._before: tuple[float, Diagram] | None = None
        self._pace: Pace | None = None
        self._chosen: str | None = None
        self._looked: dict[str, pl.DataFrame] = {}
        self._said = ""
        self._drawn_at = 0.0
        self._saved_at = 0.0
        self._fresh = True

    @property
    def viewable(self) -> Plannable | None:
        """The query, None once it has been forgotten."""
        return self._query()

    def show(self) -> None:
        """Put the live drawing and the picture that stays in the file under the running cell."""
        output.show(self.widget.bundle)
        output.show(self._saved(), self._display_id)

    def hear(self, message: dict[str, Any], /) -> Work | None:
        """Take a message from a page, on any thread; what the view thread is to do then."""
        self.readers.hear(message, time.monotonic())
        said, query = message.get("say"), self._query()
        if said == "look":
            self._chosen, self._looked, self._said = str(message.get("node")), {}, ""
            self._fresh = True
            return self.hello
        if said == "set" and query is not None and self._chosen is not None:
            try:
                query.set(self._chosen, str(message.get("name")), message.get("value"))
                self._said = f"{message.get('name')} is {message.get('value')} now"
            except StreamError as wrong:
                self._said = str(wrong)
            self._fresh = True
            return self.hello
        return self.hello if said == "hello" else None

    # Below: the view thread only.

    def due(self) -> bool:
        """Whether it is time for another picture."""
        return time.monotonic() - self._drawn_at >= EVERY

    def take(self, snapshot: Snapshot) -> None:
        """Note what the query says of itself."""
        self._summary, self._kept = _summaries(snapshot)
        if snapshot.state in strip.ENDED:
            self.ended = True

    def refresh(self, snapshot: Snapshot | None, now: float) -> int:
        """Draw the plan anew, if it is time or somebody has clicked; returns the bytes sent."""
        query = self._query()
        if query is None or (snapshot is None and not self._fresh):
            return 0
        drawn = query.diagram()
        if drawn is None:
            return 0
        if self._before is None or now - self._before[0] >= EVERY:
            self._pace = _pace(self._before, (now, drawn))
            self._before = (now, drawn)
        self._diagram, self._drawn_at, self._fresh = drawn, now, False
        if self._chosen is not None:
            with contextlib.suppress(TimeoutError):  # a long batch is under way: what was seen last stays
                self._looked = query.rows_at(self._chosen, SHOWN_ROWS)
        return self._send()

    def hello(self) -> int:
        """Send all to a page that has nothing, or has asked for more; returns the bytes sent."""
        return self.refresh(None, time.monotonic()) if self._fresh else self._send()

    def change(self, options: ViewOptions) -> None:
        """A plan is shown in one way only."""

    def save(self, now: float, every: float) -> int:
        """Bring the picture in the notebook file up to date; returns the bytes sent."""
        if not self.ended and now - self._saved_at < every:
            return 0
        self._saved_at, bundle = now, self._saved()
        output.update(bundle, self._display_id)
        return sum(map(len, bundle.values()))

    def close(self) -> None:
        """Take the live view off the page; the saved picture stays."""
        self.widget.close()

    def _send(self) -> int:
        if self._diagram is None:
            return 0
        picture = svg(self._diagram, None if self.ended else self._pace, self._chosen)
        node = self._diagram.node(self._chosen) if self._chosen else None
        message = {"do": "plan", "svg": picture, "summary": f"{self.name}: {self._summary}", "said": self._said,
                   "node": None if node is None else self._facts(node)}  # fmt: skip
        self.line.send(message)
        return len(picture) + 2000

    def _facts(self, node: Node) -> dict[str, Any]:
        return {
            "id": node.id,
            "title": node.title,
            "attributes": [
                *([["kept as", node.keeps]] if node.keeps else []),
                *([name, _words(name, v)] for name, v in node.attributes.items()),
            ],
            "settings": [[name, str(value), words] for name, (value, words) in node.settings.items()],
            "tables": [_table(title, rows) for title, rows in self._looked.items()] or [_nothing(node)],
        }

    def _saved(self) -> dict[str, str]:
        words = f"{self.name}: {self._kept}"
        if self._diagram is None:
            return {"text/plain": words, "text/html": f"<p>{escape(words)}</p>"}
        data = base64.b64encode(svg(self._diagram).encode()).decode()
        picture = f'<img alt="{escape(f"plan of {self.name}", quote=True)}" src="data:image/svg+xml;base64,{data}"/>'
        html = f'<div class="{MARK}"><style>{STYLE}</style>{picture}<p>{escape(words)}</p></div>'
        return {"text/plain": self._diagram.text, "text/html": html}


def _summaries(snapshot: Snapshot) -> tuple[str, str]:
    """A query in a line: for a page, and for what is kept of it."""
    return strip.summary(snapshot), strip.summary(snapshot, time.time())


def _words(name: str, value: Attribute) -> str:
    """An attribute of a control table."""
    if isinstance(value, str):
        return value
    return size(value) if name.endswith("bytes") else number(value)


def _table(title: str, rows: pl.DataFrame) -> dict[str, Any]:
    """Rows to show under a title."""
    return {
        "title": f"{title} ({rows.height} of them)" if rows.height else f"{title}: nothing now",
        "names": rows.columns,
        "rows": [list(row) for row in zip(*(cells(column) for column in rows), strict=True)],
    }


def _nothing(node: Node) -> dict[str, Any]:
    """What is said where there are no rows to look at."""
    busy = "busy with a long batch; the rows come with the next picture"
    return {"title": busy if node.bytes else "It keeps nothing: rows pass through it.", "names": [], "rows": []}


def _pace(before: tuple[float, Diagram] | None, now: tuple[float, Diagram]) -> Pace | None:
    """Rates between two pictures."""
    if before is None or now[0] <= before[0]:
        return None
    seconds = now[0] - before[0]
    rows = {(f.source, f.target): f.rows for f in before[1].flows}
    held = {n.id: n.bytes for n in before[1].nodes}
    return Pace(
        {(f.source, f.target): (f.rows - rows.get((f.source, f.target), 0)) / seconds for f in now[1].flows},
        {n.id: (n.bytes - held.get(n.id, 0)) / seconds for n in now[1].nodes},
    )
