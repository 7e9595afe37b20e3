"""`ws://host/path` and `wss://`: the messages of a WebSocket. A server keeps none for who comes late or comes back."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from jupyter_stream.core.address import WEB
from jupyter_stream.sources.broker import (
    ANSWER,
    WEB_CREDENTIALS,
    AccessRefused,
    BrokerSource,
    ServerUnreachable,
    missing,
)
from jupyter_stream.sources.inbox import Inbox
from jupyter_stream.sources.messages import OPTIONS
from jupyter_stream.sources.protocol import Context, Source, SourceConnector
from jupyter_stream.sources.text import LONGEST

_SILENT: Final = logging.getLogger("websockets.jupyter_stream")
"""For the library, which would write headers with passwords to its log."""
_SILENT.setLevel(logging.CRITICAL)
_LOOK: Final = 0.1
"""Seconds between looks whether more is wanted."""
_AT_ONCE: Final = 1_000
"""Messages handed over at once."""


class WebSocketSource(BrokerSource):
    """Messages of a WebSocket."""

    takes: ClassVar[Mapping[str, str]] = {
        "send": 'a message to send when the connection is made, such as \'{"subscribe": "trades"}\'',
        **OPTIONS,
        "config": WEB_CREDENTIALS,
    }
    example = "wss://stream.example.com/trades"
    is_web = True
    known = WEB

    def check(self) -> None:
        """Raise `SourceError` where the package is missing."""
        self._client = _library(self.scheme)
        self.at = f"{self.host}:{self.given_port or (443 if self.scheme == 'wss' else 80)}"

    def receive(self, inbox: Inbox) -> None:
        """One connection, until it breaks."""
        closed = self._client.exceptions.ConnectionClosed
        try:
            with self._connected() as connection:
                if "send" in self.options:
                    connection.send(self.options["send"])
                inbox.is_connected()
                while not inbox.closed.is_set():
                    inbox.put([(message,) for message in self._some(connection)])
        except closed as error:
            raise ServerUnreachable(f"{self.at} closed the connection: {error}.") from None
        except self._client.exceptions.InvalidStatus as error:
            status = error.response.status_code
            kind = AccessRefused if status in (401, 403) else ServerUnreachable
            raise kind(f"{self.at} refuses the connection: HTTP status {status}.") from None
        except (OSError, self._client.exceptions.WebSocketException) as error:
            raise ServerUnreachable(f"No WebSocket answers at {self.at}: {error}.") from None

    def _connected(self) -> Any:
        context = None
        if self.scheme == "wss":
            context = ssl.create_default_context(cafile=self.config.get("ca"))
            if self.config.get("cert"):
                context.load_cert_chain(self.config["cert"], self.config.get("key"))
        return self._client.sync.client.connect(
            f"{self.scheme}://{self.at}{self.path or '/'}",
            ssl=context,
            additional_headers=self.headers(),
            open_timeout=ANSWER,
            close_timeout=0.1,
            max_size=LONGEST,
            logger=_SILENT,
        )

    @staticmethod
    def _some(connection: Any) -> list[bytes]:
        """What has come, none after a short while."""
        found: list[bytes] = []
        try:
            while len(found) < _AT_ONCE:
                message = connection.recv(timeout=0 if found else _LOOK)
                found.append(message.encode() if isinstance(message, str) else message)
        except TimeoutError:
            pass
        return found


def _library(scheme: str) -> Any:
    try:
        import websockets
        import websockets.exceptions
        import websockets.sync.client
    except ImportError:
        raise missing(scheme, "websockets", "ws") from None
    return websockets


def _open(context: Context) -> Source:
    return WebSocketSource(context)


WS = SourceConnector(
    scheme="ws", also=("wss",), example="ws://localhost:8765/trades", options=WebSocketSource.takes, open=_open
)
