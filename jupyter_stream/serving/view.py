"""GET /view/NAME: a query's live view on a page of its own, with the same chart as in its cell. It changes nothing.

The picture of a query is made once for all its pages, in a thread of its own. Each page is told what has changed since it was
told last, and only once that has left: a slow one is told less often.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tornado.web import HTTPError
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from jupyter_stream.errors import StreamError
from jupyter_stream.serving.handler import Guarded, apart
from jupyter_stream.serving.results import READERS

if TYPE_CHECKING:
    from jupyter_stream.core.snapshot import Snapshot
    from jupyter_stream.session.query import Query
    from jupyter_stream.views.picture import Picture

PAGE_JS: Final = (Path(__file__).parent / "page.js").read_text(encoding="utf-8")
FRAME: Final = 0.125
"""Seconds between two pictures at least."""
HIDDEN: Final = 3.0
"""The same for a page that nobody sees."""
ALIVE: Final = 1.0
"""Seconds of silence after which a page is told all the same: after three without a word it says so."""
_WORD: Final = 4096
"""Bytes that a page may say at once."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A query's picture at one version.

    Attributes:
        version: of what was drawn, and how.
        snapshot: the query.
        picture: its chart; None where there is none.
        wrong: why, if something is wrong.
        rates: rows in and out per second.
    """

    version: object
    snapshot: Snapshot
    picture: Picture | None
    wrong: str | None
    rates: tuple[float, float]


class SharedPicture:
    """The newest picture of one query, for all its pages."""

    def __init__(self, query: Query) -> None:
        from jupyter_stream.views.strip import RowRates

        self._query = query
        self._rates = RowRates()
        self._lock = asyncio.Lock()
        self._drawn: Drawn | None = None
        self.pages = 0

    async def now(self) -> Drawn:
        """It, drawn anew if the query, or how it is shown, has changed."""
        async with self._lock:
            if self._drawn is None or self._drawn.version != self._version:
                self._drawn = await apart(self._draw)
            return self._drawn

    @property
    def _version(self) -> object:
        from jupyter_stream import views

        return self._query.version, self._query.status, views.options_of(self._query)

    def _draw(self) -> Drawn:
        from jupyter_stream import views

        version = self._version
        snapshot, picture, wrong = views.drawn(self._query)
        rates = self._rates.read(time.monotonic(), snapshot.rows_in, snapshot.rows_out)
        return Drawn(version, snapshot, picture, wrong, rates)


class Pictures:
    """Those of all queries that are looked at; used by the server's thread alone."""

    def __init__(self) -> None:
        self._of: dict[Query, SharedPicture] = {}

    def enter(self, query: Query) -> SharedPicture:
        """One more page looks at it."""
        found = self._of.setdefault(query, SharedPicture(query)) if query not in self._of else self._of[query]
        found.pages += 1
        return found

    def leave(self, query: Query) -> None:
        """One page less."""
        found = self._of[query]
        found.pages -= 1
        if not found.pages:
            del self._of[query]

    @property
    def count(self) -> int:
        """Pages there are."""
        return sum(p.pages for p in self._of.values())


class PageHandler(Guarded):
    """The page."""

    reading = True

    async def get(self, name: str) -> None:
        """HTML with all its code: it asks no other server for anything."""
        query = self.query_named(name)
        nonce = secrets.token_urlsafe(16)
        page = await self.apart(lambda: _html(query.name, nonce))
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header(
            "Content-Security-Policy",
            f"default-src 'none'; script-src 'nonce-{nonce}' blob:; style-src 'unsafe-inline'; img-src data: blob:; "
            "font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        )
        self.finish(page)


class LiveHandler(Guarded, WebSocketHandler):
    """What the page is told, and what it says: the WebSocket behind it."""

    reading = True

    def initialize(self, pictures: Pictures, **words: Any) -> None:  # type: ignore[override]  # Tornado's own takes any
        """Called by Tornado with what the server was made of."""
        super().initialize(**words)
        self._pictures = pictures
        self._query: Query | None = None
        self._seen = True
        self._fresh = asyncio.Event()
        self._over = asyncio.Event()
        self._wants_library = False
        self._save: tuple[str, str] | None = None

    def prepare(self) -> Awaitable[None] | None:
        """The checks of every request, and room for one more."""
        super().prepare()
        if self._pictures.count >= READERS:
            raise HTTPError(503, f"{READERS} pages are served already")
        return None

    def check_origin(self, origin: str) -> bool:
        """A browser's page must be ours."""
        return self.access.known_origin(origin, self.host)

    async def get(self, *args: Any, **words: Any) -> None:
        """Open the WebSocket of a query that is there."""
        self._query = self.query_named(words["name"])
        await super().get(*args, **words)

    def open(self, *_args: str, **_words: str) -> None:
        """The page is there: tell it from now on."""
        asyncio.get_running_loop().create_task(self._tell())

    def on_message(self, message: str | bytes) -> None:
        """What the page says: whether it is seen, that it has nothing yet, that it wants a file. Nobody hears the rest."""
        if len(message) > _WORD:
            return self.close(1009, "too long")
        try:
            said = json.loads(message)
        except (ValueError, RecursionError):
            return self.close(1003, "not JSON")
        if not isinstance(said, dict):
            return self.close(1003, "not an object")
        self._seen = bool(said.get("seen", True))
        if said.get("say") in ("hello", "library"):
            self._wants_library |= bool(said.get("library")) or said["say"] == "library"
            self._fresh.set()
        if said.get("say") == "save" and said.get("format") in ("png", "svg", "html"):
            self._save = str(said["format"]), "dark" if said.get("dark") else "light"
        return None

    def on_close(self) -> None:
        """The page has gone."""
        self._over.set()

    async def _tell(self) -> None:
        assert self._query is not None
        picture = self._pictures.enter(self._query)
        try:
            await self._frames(picture)
        except WebSocketClosedError:
            pass
        finally:
            self._pictures.leave(self._query)
            self.close()

    async def _frames(self, picture: SharedPicture) -> None:
        from jupyter_stream.views import message
        from jupyter_stream.views.figure import BOKEH_VERSION, library

        page, sent, version = message.PageState(), 0.0, None
        while not self._over.is_set():
            fresh = self._fresh.is_set()
            self._fresh.clear()
            if self._wants_library:
                self._wants_library = False
                await self._send({"do": "library", "version": BOKEH_VERSION}, [await apart(library)])
            if fresh:
                page.forget()
            drawn = await picture.now()
            now = time.monotonic()
            if fresh or drawn.version != version or now - sent >= ALIVE:
                head = message.head(drawn.snapshot, drawn.picture, drawn.wrong, drawn.rates)
                news = page.news(head, drawn.picture, fresh=fresh, anyway=now - sent >= ALIVE)
                version = drawn.version
                if news is not None:
                    sent = now
                    await self._send(*news)
            if self._save is not None:
                form, self._save = self._save, None
                await self._saved(drawn, *form)
            await self._rest(HIDDEN if not self._seen else FRAME)

    async def _saved(self, drawn: Drawn, form: str, theme: str) -> None:
        """Send the chart as a file."""
        from jupyter_stream.views import export

        try:
            content = await apart(
                lambda: export.content(drawn.snapshot, drawn.picture, drawn.wrong, form, theme),
            )
        except StreamError as wrong:
            return await self._send({"do": "refuse", "text": str(wrong)}, [])
        told = {"do": "save", "name": f"{drawn.snapshot.name}.{form}", "type": export.FORMATS[form]}
        return await self._send(told, [content])

    async def _rest(self, seconds: float) -> None:
        """Wait so long, less where the page asks for something."""
        try:
            await asyncio.wait_for(self._fresh.wait(), seconds)
        except TimeoutError:
            return

    async def _send(self, told: dict[str, Any], buffers: list[bytes]) -> None:
        """A message and its buffers; done once they have left."""
        await self.write_message(json.dumps({"message": told, "count": len(buffers)}))
        for buffer in buffers:
            await self.write_message(buffer, binary=True)


def _html(name: str, nonce: str) -> str:
    from jupyter_stream.views import export
    from jupyter_stream.views.figure import BOKEH_VERSION

    script = f'<script type="module" nonce="{nonce}">\n{export.LIVE_CODE}\n{PAGE_JS}</script>'
    content = f'<div id="view"></div>\n{script}'
    return export.shell(escape(name), "auto", content, body=f'data-bokeh="{escape(BOKEH_VERSION)}"')
