"""The server: one watched thread with an event loop of its own. Everything public may be called from any thread."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from tornado.httpserver import HTTPServer
from tornado.web import Application

from jupyter_stream.core import logs, threads
from jupyter_stream.errors import QueryError
from jupyter_stream.serving.access import Access, access
from jupyter_stream.serving.control import NodeControl, QueryControl, SessionControl
from jupyter_stream.serving.handler import AT_ONCE, NotFound
from jupyter_stream.serving.metrics import MetricsHandler
from jupyter_stream.serving.queries import QueriesHandler, QueryHandler
from jupyter_stream.serving.results import Readership, ResultsHandler
from jupyter_stream.serving.view import LiveHandler, PageHandler, Pictures

if TYPE_CHECKING:
    from jupyter_stream.session.session import Session

log = logs.of(__name__)

PORT: Final = 8765
"""The first port that is tried where none is said."""
_TRIES: Final = 20
BODY: Final = 2**20
"""Bytes of a request's body at most: a text has at most a million characters."""
_HEADERS: Final = 2**14
_SLOW: Final = 10.0
"""Seconds in which a request has to have come."""
_IDLE: Final = 60.0
"""Seconds after which a connection without a request is closed."""


class HttpServer:
    """A session, served until `stop`.

    Attributes:
        host: the address it listens at.
        port: the port.
    """

    def __init__(self, session: Session, listening: socket.socket, rules: Access) -> None:
        self._session = session
        self._access = rules
        self._socket = listening
        self.host, self.port = listening.getsockname()[:2]
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._stopped = False
        self._ready = threads.Event()
        threads.on_fork(self._forked)
        self._watched = threads.begin("jupyter-stream http", self._run, self._died)
        self._ready.wait()

    # -- for people --------------------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Where it is reached, without a token."""
        host = "localhost" if self.host in ("127.0.0.1", "::1", "0.0.0.0", "::") else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def token(self) -> str | None:
        """What gives all rights; None where none is needed."""
        return self._access.token

    def page(self, name: str) -> str:
        """The address of a query's live page, with a token for that query alone: whoever has it can look on, and no more.

        Raises:
            QueryError: there is no such query.
        """
        query = self._session.query(name)
        token = self._access.shared(query.name)
        return f"{self.url}/view/{quote(query.name, safe='')}" + (f"?token={token}" if token else "")

    @property
    def running(self) -> bool:
        """Whether it serves."""
        return self._watched.alive and not self._stopped

    def stop(self, timeout: float = 2.0) -> None:
        """Serve no longer: streams under way end."""
        self._stopped = True
        loop, stop = self._loop, self._stop
        if loop is not None and stop is not None and self._watched.alive:
            try:
                loop.call_soon_threadsafe(stop.set)
            except RuntimeError:  # it ended meanwhile
                return
            if threading.current_thread() is not self._watched.thread:
                self._watched.thread.join(timeout)

    def __repr__(self) -> str:
        return f"<{self.url}, {'serving' if self.running else 'stopped'}>"

    # -- its thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        http = HTTPServer(
            _application(self._session, self._access),
            max_body_size=BODY,
            max_header_size=_HEADERS,
            body_timeout=_SLOW,
            idle_connection_timeout=_IDLE,
        )
        http.add_sockets([self._socket])
        self._ready.set()
        try:
            await self._stop.wait()
        finally:
            http.stop()
            await http.close_all_connections()

    def _died(self, error: BaseException | None) -> None:
        """The thread ended in the middle of its work. Its log entry says why; nobody is served any more."""
        self._stopped = True
        self._ready.set()
        self._socket.close()

    def _forked(self) -> None:
        """This is a process forked from the one that serves, which goes on alone."""
        self._stopped = True
        self._socket.close()


def serve(
    session: Session, port: int | None, *, host: str, token: str | bool | None, names: Iterable[str] = ()
) -> HttpServer:
    """Begin to serve a session; see `Session.serve`."""
    if port is not None and not 0 <= port <= 65_535:
        raise QueryError(f"{port} is not a port", hint=f"Write a number such as {PORT}, or 0 for any that is free.")
    return HttpServer(session, _listening(host, port), access(token, names))


def _listening(host: str, port: int | None) -> socket.socket:
    """A socket at that port; at the first free one where none is said."""
    for number in [port] if port is not None else [*range(PORT, PORT + _TRIES), 0]:
        try:
            kind = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0]
            made = socket.create_server(kind[4][:2], family=kind[0], backlog=128)
        except OSError as error:
            if port is None and error.errno == errno.EADDRINUSE:
                continue
            raise QueryError(
                f"nothing can listen at {host}, port {number}: {error.strerror or error}",
                hint="Another program may have that port: say another one, or none.",
            ) from None
        made.setblocking(False)
        return made
    raise AssertionError("port 0 is always free")


def _application(session: Session, rules: Access) -> Application:
    words: dict[str, Any] = {"session": session, "access": rules, "room": asyncio.Semaphore(AT_ONCE)}
    readership, pictures = Readership(), Pictures()
    name, node = r"(?P<name>[^/]+)", r"(?P<node>[^/]+)"
    return Application(
        [
            (r"/queries/?", QueriesHandler, words),
            (rf"/queries/{name}", QueryHandler, words),
            (rf"/queries/{name}/results", ResultsHandler, {**words, "readership": readership}),
            (r"/control/?", SessionControl, words),
            (rf"/control/queries/{name}", QueryControl, words),
            (rf"/control/queries/{name}/{node}", NodeControl, words),
            (r"/metrics", MetricsHandler, words),
            (rf"/view/{name}", PageHandler, words),
            (rf"/view/{name}/live", LiveHandler, {**words, "pictures": pictures}),
        ],
        default_handler_class=NotFound,
        default_handler_args=words,
        log_function=lambda handler: None,  # addresses have tokens in them
        websocket_max_message_size=2**16,
        websocket_ping_interval=30,
    )


__all__ = ["PORT", "HttpServer", "serve"]
