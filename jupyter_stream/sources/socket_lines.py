"""`socket://host:port`: the lines a server sends over TCP, a message each. It keeps none for who comes late or comes back."""

from __future__ import annotations

import socket

from jupyter_stream.errors import SourceError
from jupyter_stream.sources.broker import ANSWER, BrokerSource, ServerUnreachable
from jupyter_stream.sources.inbox import Inbox
from jupyter_stream.sources.messages import OPTIONS, refuse_avro
from jupyter_stream.sources.protocol import Context, Source, SourceConnector
from jupyter_stream.sources.text import LONGEST

_BLOCK = 1 << 20
"""Bytes received at once."""
_SHOWN = 1_000
"""Bytes of a line that isn't whole which `errors(name)` gets."""


class SocketSource(BrokerSource):
    """Lines over TCP. `socket://9999` is a port of this machine."""

    takes = OPTIONS
    example = "socket://localhost:9999"

    def check(self) -> None:
        """Raise `SourceError` without a port."""
        refuse_avro(self.options, "lines of text")
        if self.host.isdecimal() and self.given_port is None:
            self.host, self.given_port = "localhost", int(self.host)
        if self.given_port is None or self.path.strip("/") or self.config:
            raise SourceError(f"'{self.shown}' is not a host and a port.", hint=f"Write '{self.example}'.")
        self.at = f"{self.host}:{self.given_port}"

    def receive(self, inbox: Inbox) -> None:
        """Lines until the server closes; half a line that is left then is no message."""
        rest = b""
        try:
            with socket.create_connection((self.host, self.given_port or 0), timeout=ANSWER) as connection:
                connection.settimeout(None)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # a machine that is gone says nothing
                inbox.at_close(lambda: wake(connection))
                inbox.is_connected()
                while data := connection.recv(_BLOCK):
                    *lines, rest = (rest + data).split(b"\n")
                    inbox.put([(line,) for line in lines if line and not line.isspace()])
                    if len(rest) > LONGEST:
                        raise SourceError(f"{self.at} sends a line of more than {LONGEST >> 20} MB.")
        except OSError as error:
            raise ServerUnreachable(f"Nothing answers at {self.at}: {error.strerror or error}.") from None
        finally:
            if rest.strip() and not inbox.closed.is_set():
                inbox.refuse(rest[:_SHOWN].decode(errors="replace"), "the connection ended in the middle of this line")


def wake(connection: socket.socket) -> None:
    """Let a thread go on that waits for a connection: it has ended."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:  # it ended by itself
        return


def _open(context: Context) -> Source:
    return SocketSource(context)


SOCKET = SourceConnector(scheme="socket", example=SocketSource.example, options=SocketSource.takes, open=_open)
