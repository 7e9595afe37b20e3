"""`https://host/path`: a webhook, called with the rows as JSON. A call that is made again has the same idempotency key."""

from __future__ import annotations

import logging
import ssl
from typing import Any, Final

import polars as pl

from jupyter_stream.core import address
from jupyter_stream.core.far import as_json
from jupyter_stream.errors import SinkError
from jupyter_stream.sinks.database import by_halves
from jupyter_stream.sinks.options import choice, whole
from jupyter_stream.sinks.protocol import ROW_ID, Sink, SinkConnector, SinkUnreachable, Target
from jupyter_stream.sinks.server import Server, wrong

_EXAMPLE: Final = "https://example.com/hooks/alerts"
_ANSWER: Final = 10.0
"""Seconds a server has to answer."""
_ROWS: Final = 1_000
"""Rows of a call at most, unless `rows` says otherwise."""
_LATER: Final = frozenset({401, 403, 404, 405, 407, 408, 409, 423, 425, 429})
"""Statuses that say nothing against the rows: the credentials, the address or the moment are wrong."""
_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})
IDEMPOTENCY: Final = "Idempotency-Key"
"""The header that is the same whenever a call is made again (draft-ietf-httpapi-idempotency-key-header)."""
logging.getLogger("httpx").setLevel(logging.WARNING)  # it would write each address, tokens and all, to its log


class _RowsRefused(Exception):
    """The server says that it won't take these rows, now or later."""


class WebSink:
    """An address that takes POST. Raises `SinkError` when it is made where it can't be one, or shows a password on the way."""

    def __init__(self, target: Target) -> None:
        server = Server.of(target, _EXAMPLE, address.WEB)
        where = server.address
        self._shown = where.shown
        if where.scheme == "http" and where.host not in _LOCAL and address.headers(server.config):
            raise SinkError("http:// would send what is secret for all to read.", hint="Write https://.")
        host = f"[{where.host}]" if ":" in where.host else where.host
        port = f":{where.port}" if where.port else ""
        self._url = f"{where.scheme}://{host}{port}{where.path or '/'}"
        self._config = server.config
        self._lines = choice(target.options, "format", ("json", "lines"), "json") == "lines"
        each = choice(target.options, "each", ("commit", "row"), "commit") == "row"
        self._most = 1 if each else whole(target.options, "rows", _ROWS, least=1)
        self._each = each
        for name, value in server.config.get("headers", {}).items():
            _check_header(str(name), str(value))
        self._client: Any = None
        self._taken: set[str] = set()  # of the commit under way: what needn't be sent again

    def check(self) -> None:
        """Nothing is called before there is something to tell."""

    def _connected(self) -> Any:
        if self._client is None:
            import httpx

            verify: ssl.SSLContext | bool = True
            if self._config.get("ca") or self._config.get("cert"):
                verify = ssl.create_default_context(cafile=self._config.get("ca"))
                if self._config.get("cert"):
                    verify.load_cert_chain(self._config["cert"], self._config.get("key"))
            self._client = httpx.Client(headers=address.headers(self._config), timeout=_ANSWER, verify=verify)
        return self._client

    def append(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        """Call it with rows, so many at a time; where it refuses some for what is in them, with halves of these."""
        found = []
        for first in range(0, rows.height, self._most):
            found.append(by_halves(rows[first : first + self._most], self._post, (_RowsRefused,)))
        bad = [f for f in found if f is not None]
        return pl.concat(bad) if bad else None

    def _post(self, rows: pl.DataFrame) -> None:
        import httpx

        ids = rows.get_column(ROW_ID)
        key = ids[0] if rows.height == 1 else f"{ids[0]}-{rows.height}"
        if key in self._taken:
            return
        kind = "application/x-ndjson" if self._lines else "application/json"
        headers = {"Content-Type": kind, IDEMPOTENCY: key}
        try:
            answer = self._connected().post(self._url, content=self._body(rows), headers=headers)
        except (httpx.HTTPError, OSError) as error:
            raise SinkUnreachable(f"{self._shown} can't be reached: {str(error) or type(error).__name__}") from None
        status = answer.status_code
        if 400 <= status < 500 and status not in _LATER:
            raise _RowsRefused(f"the server answered {status}: {answer.text[:200]}")
        if not 200 <= status < 300:
            raise SinkUnreachable(
                f"{self._shown} answered with HTTP status {status}", _pause(answer.headers.get("Retry-After"))
            )
        self._taken.add(key)

    def _body(self, rows: pl.DataFrame) -> bytes:
        values = as_json(rows).to_list()
        if self._lines:
            return "".join(f"{value}\n" for value in values).encode()
        return (values[0] if self._each else f"[{','.join(values)}]").encode()

    def upsert(self, rows: pl.DataFrame, gone: pl.DataFrame) -> None:
        """A webhook is told changes."""
        raise AssertionError("no mode of webhooks")

    def replace(self, rows: pl.DataFrame) -> None:
        """A webhook is told changes."""
        raise AssertionError("no mode of webhooks")

    def commit(self, number: int, position: str) -> None:
        """The server has taken all calls."""
        self._taken.clear()

    def committed(self) -> tuple[int, str] | None:
        """A webhook keeps no positions."""
        return None

    def abort(self) -> None:
        """What was taken can't be taken back, and isn't sent again."""

    def close(self) -> None:
        """Let go of the connection."""
        client, self._client = self._client, None
        if client is not None:
            client.close()


def _check_header(name: str, value: str) -> None:
    if any(c in name + value for c in "\r\n\0"):
        raise wrong(f"the header '{name.split()[0] if name.split() else ''}' holds a line break.", None).about("config")


def _pause(text: str | None) -> float | None:
    """Seconds that a server asks to be left alone, at most five minutes; None where it says a date, or nothing."""
    return min(300.0, float(text)) if text is not None and text.strip().isdecimal() else None


def _open(target: Target) -> Sink:
    return WebSink(target)


WEB: Final = SinkConnector(
    scheme="https",
    also=("http",),
    example=_EXAMPLE,
    options={
        "each": "'commit' (default) to call it with a list of the rows of a commit, 'row' with one row at a time",
        "rows": "rows of one call at most, 1000 by default",
        "format": "'json' (default) for a JSON array, 'lines' for JSON lines",
        "config": address.WEB_CREDENTIALS,
    },
    modes=("changes", "append"),
    promise="at least once",
    how="a call that is made again after a failure has the same Idempotency-Key, and its rows the same row_id",
    open=_open,
    is_web=True,
)
"""The connector of `https://`."""
