"""One live view: a query, its line to a page, and what the page was last told. Not for timing: the view thread calls it."""

from __future__ import annotations

import time
import weakref
from collections import deque
from typing import Any, Final

from jupyter_stream.core import logs
from jupyter_stream.core.snapshot import Snapshot, Viewable
from jupyter_stream.errors import StreamError
from jupyter_stream.views import export, message, saved, strip
from jupyter_stream.views.chart import picture
from jupyter_stream.views.colours import Colours
from jupyter_stream.views.figure import BOKEH_VERSION, library
from jupyter_stream.views.number import Past
from jupyter_stream.views.options import ViewOptions
from jupyter_stream.views.page import Page, Still
from jupyter_stream.views.picture import Picture, Table
from jupyter_stream.views.readers import Readers
from jupyter_stream.views.roles import resolve
from jupyter_stream.views.selection import find, select, selected
from jupyter_stream.views.widget import LiveWidget, PageChannel, Work

log = logs.of(__name__)

_COLOURS: Final[weakref.WeakKeyDictionary[Viewable, Colours]] = weakref.WeakKeyDictionary()
_PAST: Final[weakref.WeakKeyDictionary[Viewable, Past]] = weakref.WeakKeyDictionary()
_PRESSES: Final = ("stop", "pause", "resume")
ALIVE_EVERY: Final = 1.0
"""Seconds after which something is sent even if nothing changed: a page that hears nothing for three says so."""
PUSHES: Final = (1.0, 3.0, 9.0, 30.0)
"""Seconds after which everything is sent unasked to a page that has not answered: with ipykernel 6 its question waits until
the running cell ends, but our messages get through."""
_REMEMBERED: Final = 4
"""Pictures back that a click may speak of: it was made on one that has left by the time we hear."""


_NOTEBOOK: Final = Colours()
"""What all charts of a notebook agree with."""


def colours_of(viewable: Viewable) -> Colours:
    """The colours of a query, which agree with those of all others in the notebook."""
    if viewable not in _COLOURS:
        _COLOURS[viewable] = Colours()
        _COLOURS[viewable].join(_NOTEBOOK)
    return _COLOURS[viewable]


class LiveView:
    """A query's view in one output cell, or in one panel of a dashboard.

    Args:
        viewable: the query.
        options: how to show it.
        page: where; a place of its own where left out.
        own: whether it stays as it is when the query's views are to be shown another way.

    Attributes:
        options: as now shown; set by `change`, on the view thread.
        colours: which series has which; the same in all views of the query.
        readers: the pages it is on.
        line: its line to the page; only the view thread sends through it.
    """

    def __init__(
        self, viewable: Viewable, options: ViewOptions | None = None, page: Page | None = None, *, own: bool = False
    ) -> None:
        self.options = options or ViewOptions()
        self._own = own
        self.name = viewable.name
        self.readers = Readers()
        self.ended = False
        self._viewable: Viewable | None = viewable
        self._of = weakref.ref(viewable)
        self.colours = colours_of(viewable)
        self._past = _PAST.setdefault(viewable, Past())
        self._rates = strip.RowRates()
        self._page = page or Page()
        self.line: PageChannel = self._page.enter()
        self._born = time.monotonic()
        self._pushed = 0
        self._version: object = None
        self._last: Snapshot | None = None
        self._told = message.PageState()
        self._shown: deque[Table] = deque(maxlen=_REMEMBERED)
        self._sent_at = 0.0
        self._saved_at = 0.0
        self._saved_version: object = None

    @property
    def viewable(self) -> Viewable | None:
        """The query, None once it has ended and its last state is all there is."""
        return self._viewable

    @property
    def widget(self) -> LiveWidget:
        """The widget it is shown in."""
        return self._page.widget

    def show(self) -> None:
        """Put the live view under the running cell, and the picture that stays in the file."""
        self.keep()
        self._page.show()

    def keep(self) -> None:
        """Give the page the picture that stays in the file."""
        self._page.put(self.line, self._saved(self._snapshot()))

    def _ipython_display_(self) -> None:
        from jupyter_stream.views import thread

        self.show()
        thread.add(self)

    def hear(self, said: dict[str, Any]) -> Work | None:
        """Take a message from a page, on any thread. Buttons act at once: they only queue commands on the engine.

        Returns:
            What the view thread is to do; None for nothing.
        """
        self.readers.hear(said, time.monotonic())
        say = said.get("say")
        if say == "hello":
            with_library = bool(said.get("library"))
            return lambda: self.hello(with_library=with_library)
        if say == "library":
            return self.send_library
        if say == "press":
            what, viewable = said.get("what"), self._viewable
            if what in _PRESSES and viewable is not None:
                getattr(viewable, what)()
        elif say == "pick":
            return self._pick(said.get("rows"), more=bool(said.get("more")))
        elif say == "save" and said.get("format") in export.FORMATS:
            form, theme = str(said["format"]), "dark" if said.get("dark") else "light"
            return lambda: self._download(form, theme)
        return None

    def _pick(self, said: object, *, more: bool) -> Work | None:
        viewable = self._of()
        if viewable is None or not isinstance(said, list):
            return None
        select(viewable, find(said, [*self._shown]) if said else None, more=more)
        return lambda: self.refresh(None, time.monotonic())

    # Below: the view thread only.

    def refresh(self, snapshot: Snapshot | None, now: float) -> int:
        """Send what changed since the last call; returns the bytes sent.

        Args:
            snapshot: the query now; None when nothing changed and only rates and pushes are due.
            now: `time.monotonic()`.
        """
        if snapshot is not None:
            self._last = snapshot
        if self._last is None:
            return 0
        return self._push(now) + self._send(self._last, now)

    def hello(self, *, with_library: bool) -> int:
        """Send everything, to a page that has nothing; returns the bytes sent."""
        sent = self.send_library() if with_library else 0
        self._told.forget()
        return sent + (self._send(self._last, time.monotonic(), fresh=True) if self._last is not None else 0)

    def send_library(self) -> int:
        """Send BokehJS; returns the bytes sent."""
        code = library()
        self.line.send({"do": "library", "version": BOKEH_VERSION}, [code])
        return len(code)

    def change(self, options: ViewOptions) -> None:
        """Show it another way from now on, unless it has a way of its own."""
        if not self._own:
            self.options, self._version = options, None

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

    def save(self, now: float, every: float) -> int:
        """Bring the picture in the notebook file up to date, if it is time and there is something new; returns the bytes sent."""
        if self._last is None or self._saved_version == (self._last.version, self.options):
            return 0
        if not self.ended and now - self._saved_at < every:
            return 0
        self._saved_at, self._saved_version = now, (self._last.version, self.options)
        self._page.put(self.line, self._saved(self._last))
        return self._page.update()

    def close(self) -> None:
        """Take the live view off the page; the saved picture stays."""
        self.widget.close()

    def drawn(self, snapshot: Snapshot) -> tuple[Picture | None, str | None]:
        """The chart of a snapshot; where there is none, what is wrong, if something is."""
        return _picture(snapshot, self.options, self.colours, self._past)

    def _snapshot(self) -> Snapshot:
        if self._viewable is not None:
            return self._viewable.snapshot(self.options.rows)
        assert self._last is not None
        return self._last

    def _saved(self, snapshot: Snapshot) -> Still:
        now = time.time()
        return Still(saved.html(snapshot, self.drawn(snapshot)[0], now), saved.text(snapshot, now))

    def _push(self, now: float) -> int:
        if self.readers.heard or self._pushed >= len(PUSHES) or now - self._born < PUSHES[self._pushed]:
            return 0
        self._pushed += 1
        return self.hello(with_library=True)

    def _send(self, snapshot: Snapshot, now: float, *, fresh: bool = False) -> int:
        rates = self._rates.read(now, snapshot.rows_in, snapshot.rows_out)
        drawn, wrong = self.drawn(snapshot)
        if drawn is not None and (not self._shown or self._shown[0].frame is not drawn.rows.frame):
            self._shown.appendleft(drawn.rows)
        viewable = self._of()
        picked = selected(viewable) if viewable is not None else None
        head = message.head(snapshot, drawn, wrong, rates, 0 if picked is None else picked.height)
        news = self._told.news(head, drawn, fresh=fresh, anyway=now - self._sent_at >= ALIVE_EVERY)
        if news is None:
            return 0
        self._sent_at = now
        self.line.send(*news)
        return message.weight(*news)

    def _download(self, form: str, theme: str) -> int:
        if self._last is None:
            return 0
        try:
            content = export.content(self._last, *self.drawn(self._last), form, theme)
        except StreamError as wrong:
            self.line.send({"do": "refuse", "text": str(wrong)})
            return 200
        self.line.send({"do": "save", "name": f"{self.name}.{form}", "type": export.FORMATS[form]}, [content])
        return len(content)


def draw(viewable: Viewable, snapshot: Snapshot, options: ViewOptions) -> tuple[Picture | None, str | None]:
    """The chart of a query's snapshot in the colours of its views; where there is none, what is wrong, if something is."""
    return _picture(snapshot, options, colours_of(viewable), _PAST.setdefault(viewable, Past()))


def _picture(
    snapshot: Snapshot, options: ViewOptions, colours: Colours, past: Past
) -> tuple[Picture | None, str | None]:
    if not snapshot.rows.width:
        return None, None
    try:
        if not snapshot.rows.height:
            resolve(snapshot, options)  # a wrong column is told before the first row
            return None, None
        drawn = picture(snapshot, options, colours)
        return (past.with_past(drawn, snapshot.version) if drawn.kind == "number" else drawn), None
    except StreamError as wrong:
        return None, str(wrong)
    except BaseException as wrong:  # a chart must not take down the thread that serves all others
        log.exception("drawing %s failed", snapshot.name)
        return None, f"this chart could not be drawn ({type(wrong).__name__}: {wrong}); try --chart table"
