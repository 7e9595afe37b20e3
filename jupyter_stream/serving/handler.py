"""What every request goes through: the checks of `access.py`, errors as JSON, work in threads of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tornado.web import HTTPError, RequestHandler

from jupyter_stream.core import logs, threads
from jupyter_stream.errors import EngineError, QueryError, StreamError, reason

if TYPE_CHECKING:
    from jupyter_stream.serving.access import Access
    from jupyter_stream.session.query import Query
    from jupyter_stream.session.session import Session

log = logs.of(__name__)

T = TypeVar("T")
_MORE: Final = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "5"}}
"""Headers that go with an error."""
AT_ONCE: Final = 8
"""Pieces of work under way at once; further ones wait."""


class Guarded(RequestHandler):
    """A request that is checked before it is read.

    Attributes:
        session: what is served.
        access: who may.
        reading: whether the token of a single query is enough.
    """

    reading = False

    def initialize(self, session: Session, access: Access, room: asyncio.Semaphore) -> None:
        """Called by Tornado with what the server was made of."""
        self.session, self.access, self._room = session, access, room

    @property
    def host(self) -> str:
        """What the request calls this server. Tornado up to 6.4 says 127.0.0.1 of an empty header, which nobody has asked for."""
        return self.request.headers.get("Host", "")

    def prepare(self) -> Awaitable[None] | None:
        """Refuse whoever may not."""
        if not self.access.known_host(self.host):
            raise HTTPError(403, f"this server isn't called {self.host[:200]}")
        if not self.access.known_origin(self.request.headers.get("Origin"), self.host):
            raise HTTPError(403, "pages of other sites may not ask")
        query = self.path_kwargs.get("name")
        if not self.access.granted(self._token(), query, reading=self.reading and self.request.method == "GET"):
            raise HTTPError(401, "a token is missing or wrong: send Authorization: Bearer TOKEN, or ?token=TOKEN")
        return None

    def _token(self) -> str | None:
        kind, _, token = self.request.headers.get("Authorization", "").partition(" ")
        if kind.lower() in ("bearer", "token"):
            return token.strip()
        return self.get_query_argument("token", None)

    def set_default_headers(self) -> None:
        """Nothing is kept by others, guessed at, framed, or told on."""
        for name, value in (
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Referrer-Policy", "no-referrer"),
            ("Server", "jupyter-stream"),
        ):
            self.set_header(name, value)

    # -- what it is about --------------------------------------------------------------------------------------------

    def query_named(self, name: str) -> Query:
        """The query of that name. Answers 404 where there is none."""
        try:
            return self.session.query(name)
        except QueryError as error:
            raise HTTPError(404, str(error)) from None

    def body(self) -> dict[str, Any]:
        """The request's body, a JSON object. A page of another site can't send one unasked."""
        if self.request.headers.get("Content-Type", "").partition(";")[0].strip().lower() != "application/json":
            raise HTTPError(415, "send Content-Type: application/json")
        try:
            said = json.loads(self.request.body)
        except (ValueError, RecursionError):
            raise HTTPError(400, "the body is not JSON") from None
        if not isinstance(said, dict):
            raise HTTPError(400, "the body is to be a JSON object")
        return said

    def give(self, told: object, status: int = 200) -> None:
        """Answer with JSON."""
        self.set_status(status)
        self.set_header("Content-Type", "application/json; charset=utf-8")
        self.finish(json.dumps(told, default=str) + "\n")

    async def apart(self, work: Callable[[], T]) -> T:
        """Have a thread of its own do what may take long; whatever it raises is an error of this request alone."""
        async with self._room:
            return await apart(work)

    # -- errors ------------------------------------------------------------------------------------------------------

    def write_error(self, status_code: int, **words: Any) -> None:
        """Say what is wrong as JSON; of an error of ours the log has the traceback, and the answer has none."""
        raised = words.get("exc_info", (None, None, None))[1]
        told: dict[str, object] = {"error": self._reason}
        for name, value in _MORE.get(status_code, {}).items():
            self.set_header(name, value)
        if isinstance(raised, HTTPError):
            told["error"] = raised.log_message or self._reason
        elif isinstance(raised, StreamError):
            internal = isinstance(raised, EngineError)
            self.set_status(500 if internal else 400)
            told["error"] = str(raised)
            if isinstance(raised, QueryError) and raised.line is not None:
                told |= {"line": raised.line, "column": raised.column}
        self.set_header("Content-Type", "application/json; charset=utf-8")
        self.finish(json.dumps(told) + "\n")

    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        """What people did wrong is told them and no one else."""
        if not isinstance(value, HTTPError | QueryError):
            super().log_exception(typ, value, tb)


class NotFound(Guarded):
    """What there isn't."""

    def prepare(self) -> Awaitable[None] | None:
        """Say so to those who may ask."""
        super().prepare()
        raise HTTPError(404, "there are /queries, /control, /metrics and /view/NAME")


async def apart(work: Callable[[], T]) -> T:
    """Have a watched thread do something while this one serves others.

    Raises:
        StreamError: what the work raises of our own kind; anything else, panics and `SystemExit` too, as `EngineError`.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(set_it: Callable[[], None]) -> None:
        if not done.done():
            set_it()

    def tell(set_it: Callable[[], None]) -> None:
        try:
            loop.call_soon_threadsafe(settle, set_it)
        except RuntimeError:  # the server has stopped meanwhile
            log.debug("an answer came after the server had stopped")

    def fail(error: BaseException | None) -> None:
        if not isinstance(error, StreamError):
            error = EngineError("the thread ended" if error is None else reason(error))
        tell(partial(done.set_exception, error))

    def run() -> None:
        try:
            value = work()
        except StreamError as error:
            fail(error)
        else:
            tell(partial(done.set_result, value))

    threads.begin("jupyter-stream request", run, fail)
    return await done
