"""Asking Spark's state server, from one of Spark's Python processes: an answer comes in time, or the task fails and says so.

Each task has a server of its own, at a port where it takes the first connection that comes for the one of its process. Where
another comes first (a client of a program that is gone goes on trying its port, which may be this one by now), the server ends
with an assertion, and the process would wait for ever for its first answer.
"""

from __future__ import annotations

import io
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from jupyter_stream.errors import StreamError

SILENT: Final = "Spark's state server gave no answer"
"""How an error begins that tells of it."""
_ENDED: Final = f"{SILENT}: it has ended"
_BUFFER: Final = 65_536
"""Bytes, as in PySpark."""


class _Connection(socket.SocketIO):
    def __init__(self, connection: socket.socket, patience: float) -> None:
        super().__init__(connection, "rwb")
        connection.settimeout(patience)
        self._patience = patience

    def readinto(self, into: Any) -> int | None:
        with self._in_time():
            read = super().readinto(into)
        if read == 0:
            raise StreamError(_ENDED)
        return read

    def write(self, data: Any) -> int | None:
        with self._in_time():
            return super().write(data)

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError:
            raise StreamError(f"{SILENT} for {self._patience:g} seconds") from None
        except ConnectionError:
            raise StreamError(_ENDED) from None


def in_time(handle: Any, patience: float) -> None:
    """Have every answer of the state server come in time, or a `StreamError` be raised where it is asked.

    Args:
        handle: a `StatefulProcessorHandle`, its processor being initialised.
        patience: seconds an answer may take.
    """
    client = handle._statefulProcessorApiClient
    connection = _Connection(client._client_socket, patience)
    client.sockfile = io.BufferedRWPair(connection, connection, _BUFFER)
