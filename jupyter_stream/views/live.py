"""One live view: a query, a widget, and what the page was last told. Not for timing: the view thread calls it."""

from __future__ import annotations

import logging
import time
import uuid
import weakref
from typing import Any, Final

from jupyter_stream.core.snapshot import Snapshot, Viewable
from jupyter_stream.errors import StreamError
from jupyter_stream.views import output, saved, strip, wire
from jupyter_stream.views.chart import picture
from jupyter_stream.views.colours import Colours
from jupyter_stream.views.figure import BOKEH_VERSION, document, library, structure
from jupyter_stream.views.options import ViewOptions
from jupyter_stream.views.picture import Axis, Picture
from jupyter_stream.views.roles import resolve
from jupyter_stream.views.widget import LiveWidget

log = logging.getLogger(__name__)

_COLOURS: Final[weakref.WeakKeyDictionary[Viewable, Colours]] = weakref.WeakKeyDictionary()
_PRESSES: Final = ("stop", "pause", "resume")
ALIVE_EVERY: Final = 10.0
"""Seconds after which something is sent even if nothing changed: a page that hears nothing says so."""
PUSHES: Final = (1.0, 3.0, 9.0, 30.0)
"""Seconds after which everything is sent unasked to a page that has not answered: with ipykernel 6 its question waits until
the running cell ends, but our messages get through."""


class LiveView:
    """A query's view in one output cell.

    Args:
        viewable: the query.
        options: how to show it.

    Attributes:
        options: as now shown; set by `change`, on the view thread.
        heard: when a page last spoke, `time.monotonic()`; 0.0 before it ever did.
    """

    def __init__(self, viewable: Viewable, options: ViewOptions | None = None) -> None:
        self.options = options or ViewOptions()
        self.name = viewable.name
        self.heard = 0.0
        self.ended = False
        self._viewable: Viewable | None = viewable
        self._colours = _COLOURS.setdefault(viewable, Colours())
        self._rates = strip.Rates()
        self._widget = LiveWidget(key=uuid.uuid4().hex)
        self._display_id = f"jupyter-stream-{self._widget.key}"
        self._born = time.monotonic()
        self._pushed = 0
        self._version: object = None
        self._last: Snapshot | None = None
        self._seq = 0
        self._sent_at = 0.0
        self._structure: tuple[object, ...] | None = None
        self._columns: wire.Columns = {}
        self._head: dict[str, Any] = {}
        self._saved_at = 0.0
        self._saved_version: object = None

    @property
    def viewable(self) -> Viewable | None:
        """The query, None once it has ended and its last state is all there is."""
        return self._viewable

    @property
    def widget(self) -> LiveWidget:
        """The widget; only the view thread sends through it."""
        return self._widget

    def show(self) -> None:
        """Put the two outputs under the running cell: the live view, and the picture that stays in the file."""
        snapshot = self._snapshot()
        output.show(self._widget.bundle)
        output.show(self._saved(snapshot), self._display_id)

    def _ipython_display_(self) -> None:
        from jupyter_stream.views import thread

        self.show()
        thread.add(self)

    def hear(self, message: dict[str, Any]) -> str | None:
        """Take a message from a page, on any thread. Buttons act at once: they only queue commands on the engine.

        Returns:
            What the view thread is to do: `hello` (send all), `library`, or None.
        """
        self.heard = time.monotonic()
        said = message.get("say")
        if said == "press":
            what, viewable = message.get("what"), self._viewable
            if what in _PRESSES and viewable is not None:
                getattr(viewable, what)()
            return None
        if said == "hello":
            return "hello+library" if message.get("library") else "hello"
        return "library" if said == "library" else None

    # Below: the view thread only.

    def refresh(self, snapshot: Snapshot | None, now: float) -> int:
        """Send what changed since the last call; returns the bytes sent.

        Args:
            snapshot: the query now; None when nothing changed and only rates and pushes are due.
            now: `time.monotonic()`.
        """
        sent = 0
        if snapshot is not None:
            self._last = snapshot
        if self._last is None:
            return 0
        sent += self._push(now)
        sent += self._send(self._last, now)
        return sent

    def hello(self, *, with_library: bool) -> int:
        """Send everything, to a page that has nothing; returns the bytes sent."""
        sent = self.send_library() if with_library else 0
        self._structure, self._columns, self._head = None, {}, {}
        return sent + (self._send(self._last, time.monotonic(), fresh=True) if self._last is not None else 0)

    def send_library(self) -> int:
        """Send BokehJS; returns the bytes sent."""
        code = library()
        self._widget.send({"do": "library", "version": BOKEH_VERSION}, [code])
        return len(code)

    def change(self, options: ViewOptions) -> None:
        """Show it another way from now on."""
        self.options = options
        self._version = None

    def due(self) -> bool:
        """Whether the query has changed since the last snapshot was taken."""
        return self._viewable is not None and (self._version is None or self._viewable.version != self._version)

    def take(self, snapshot: Snapshot) -> None:
        """Note which version a snapshot is; lets the query go when it has ended, so that its results can be freed."""
        self._version = snapshot.version
        if snapshot.state in strip.ENDED:
            self.ended = True
            self._last = snapshot
            self._viewable = None

    def save(self, now: float, every: float) -> None:
        """Bring the picture in the notebook file up to date, if it is time and there is something new."""
        if self._last is None or self._saved_version == (self._last.version, self.options):
            return
        if self.ended or now - self._saved_at >= every:
            self._saved_at, self._saved_version = now, (self._last.version, self.options)
            output.update(self._saved(self._last), self._display_id)

    def close(self) -> None:
        """Take the live view off the page; the saved picture stays."""
        self._widget.close()

    def _snapshot(self) -> Snapshot:
        if self._viewable is not None:
            return self._viewable.snapshot(self.options.rows)
        assert self._last is not None
        return self._last

    def _saved(self, snapshot: Snapshot) -> dict[str, Any]:
        drawn, _ = self._picture(snapshot)
        return {"text/html": saved.html(snapshot, drawn), "text/plain": saved.text(snapshot)}

    def _picture(self, snapshot: Snapshot) -> tuple[Picture | None, str | None]:
        if not snapshot.rows.width:
            return None, None
        try:
            if not snapshot.rows.height:
                resolve(snapshot, self.options)  # a wrong column is told before the first row
                return None, None
            return picture(snapshot, self.options, self._colours), None
        except StreamError as wrong:
            return None, str(wrong)
        except Exception as wrong:  # a chart must not take down the thread that serves all others
            log.exception("drawing %s failed", self.name)
            return None, f"this chart could not be drawn ({type(wrong).__name__}: {wrong}); try --chart table"

    def _push(self, now: float) -> int:
        if self.heard or self._pushed >= len(PUSHES) or now - self._born < PUSHES[self._pushed]:
            return 0
        self._pushed += 1
        return self.hello(with_library=True)

    def _send(self, snapshot: Snapshot, now: float, *, fresh: bool = False) -> int:
        rates = self._rates.read(now, snapshot.rows_in, snapshot.rows_out)
        drawn, wrong = self._picture(snapshot)
        message: dict[str, Any] = {"do": "state"}
        columns: wire.Columns = {}
        if drawn is not None:
            columns = wire.columns_of(drawn)
            if drawn.kind == "plot":
                shape = structure(drawn)
                if shape != self._structure:
                    self._structure, fresh = shape, True
                    message["doc"] = document(drawn)
        fresh = fresh or self._seq == 0
        changes, buffers = wire.encode(columns, {} if fresh else self._columns)
        head = _head(snapshot, drawn, wrong, rates)
        known = {} if fresh else self._head
        news = {name: value for name, value in head.items() if name not in known or known[name] != value}
        gone = [] if fresh else [name for name in self._columns if name not in columns]
        if not (fresh or news or changes or gone) and now - self._sent_at < ALIVE_EVERY:
            return 0
        self._sent_at = now
        message |= {"seq": self._seq, "fresh": fresh, "head": news, "columns": changes, "gone": gone}
        self._seq += 1
        self._columns, self._head = columns, head
        self._widget.send(message, buffers)
        return 2000 + sum(map(len, buffers)) + sum(len("".join(c.get("text", ()))) for c in changes.values())


def _head(snapshot: Snapshot, drawn: Picture | None, wrong: str | None, rates: tuple[float, float]) -> dict[str, Any]:
    empty = strip.nothing_yet(snapshot)
    error = "\n".join(part for part in (snapshot.error, wrong) if part) or None
    head: dict[str, Any] = {
        "name": snapshot.name, "state": snapshot.state, "hint": snapshot.hint, "error": error, "empty": empty,
        "rowCount": snapshot.rows.height,
        "readings": [
            {"label": r.label, "value": r.value, "title": r.title, "alarm": r.alarm}
            for r in strip.readings(snapshot, rates)
        ],
        "kind": drawn.kind if drawn else None, "legend": [list(entry) for entry in drawn.legend] if drawn else [],
        "note": drawn.note if drawn else None,
        "provisional": drawn.provisional if drawn else False,
    }  # fmt: skip
    if drawn is not None:
        rows = drawn.rows
        head |= {"names": list(rows.names), "numeric": list(rows.numeric)}
        if drawn.kind == "plot":
            head |= {"x": _axis(drawn.x), "y": _axis(drawn.y), "watermark": drawn.watermark}
        else:
            head["light"] = list(rows.light) if any(rows.light) else []
    return head


def _axis(axis: Axis | None) -> dict[str, Any]:
    assert axis is not None
    return {"kind": axis.kind, "low": axis.low, "high": axis.high, "factors": list(axis.factors)}
