"""Servers that sinks write to, each started when it is first asked for and ended with the run, and what they were given."""

from __future__ import annotations

import contextlib
import json
import socket
import tempfile
import threading
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import polars as pl

from jupyter_stream.sinks.flat import json as as_text
from jupyter_stream.sinks.protocol import ROW_ID
from tests.leftovers import shared
from tests.sources.senders import Mqtt, Nats, Redis
from tests.sources.servers import Postgres
from tests.waiting import until


def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="takers-"))


@cache
def postgres() -> Postgres:
    with shared() as ends:
        made = Postgres(_folder())
        ends.callback(made.close)
    return made


@cache
def redis() -> Redis:
    with shared() as ends:
        made = Redis(_folder())
        ends.callback(made.close)
    return made


@cache
def mqtt() -> Mqtt:
    with shared() as ends:
        made = Mqtt(_folder())
        ends.callback(made.close)
    return made


@cache
def nats() -> Nats:
    with shared() as ends:
        made = Nats(_folder())
        ends.callback(made.close)
    return made


class Webhook:
    """Takes POST.

    Attributes:
        calls: path, headers and body of each that was taken.
        answers: statuses of the next calls, then 200; `{"Retry-After": ...}` may stand beside one.
        refuses: text in the body of calls that are answered by 422.
    """

    def __init__(self, port: int = 0) -> None:
        self.calls: list[tuple[str, dict[str, str], str]] = []
        self.answers: list[int] = []
        self.refuses: str | None = None
        self._open: list[socket.socket] = []
        self._over = False
        hook = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                hook._open.append(self.connection)
                if hook._over:  # it came while the server was closed
                    self.connection.shutdown(socket.SHUT_RDWR)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                status = hook.answers.pop(0) if hook.answers else 200
                if hook.refuses is not None and hook.refuses in body:
                    status = 422
                if status < 300:
                    hook.calls.append((self.path, dict(self.headers), body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def rows(self, path: str) -> list[dict[str, Any]]:
        return [row for at, _, body in self.calls if at == path for row in json.loads(body)]

    def close(self) -> None:
        self._over = True
        self._server.shutdown()
        self._server.server_close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


@cache
def webhook() -> Webhook:
    with shared() as ends:
        made = Webhook()
        ends.callback(made.close)
    return made


class Listener:
    """Hears a topic of MQTT."""

    def __init__(self, server: Mqtt, topic: str) -> None:
        import paho.mqtt.client as client

        self.messages: list[tuple[str, str]] = []
        self._server, self._topic = server, topic
        ready = threading.Event()
        self._client = client.Client(client.CallbackAPIVersion.VERSION2, protocol=client.MQTTv5)
        self._client.on_connect = lambda c, *_: c.subscribe(topic, qos=1)
        self._client.on_subscribe = lambda *_: ready.set()
        self._client.on_message = lambda _c, _d, m: self.messages.append(
            (m.payload.decode(), dict(m.properties.json().get("UserProperty", ())).get(ROW_ID, ""))
        )
        self._client.connect("127.0.0.1", server.program.port)
        self._client.loop_start()
        until(ready.is_set)

    def all(self) -> list[tuple[str, str]]:
        """What was published so far."""
        before = self.messages.count(("end", ""))
        self._server.send("end", self._topic)
        until(lambda: self.messages.count(("end", "")) > before)
        return [m for m in self.messages if m != ("end", "")]

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


def of_postgres(table: str, like: pl.DataFrame) -> pl.DataFrame:
    """What a table holds: intervals in microseconds, lists and structs as JSON."""
    import psycopg

    def shown(name: str, dtype: pl.DataType) -> str:
        return f'(extract(epoch from "{name}") * 1000000)::bigint' if isinstance(dtype, pl.Duration) else f'"{name}"'

    with psycopg.connect(postgres().address) as connection:
        columns = ", ".join(shown(n, t) for n, t in like.schema.items())
        rows = connection.execute(f'SELECT {columns} FROM "{table}"').fetchall()
    compact = {"separators": (",", ":")}
    rows = [tuple(json.dumps(v, **compact) if isinstance(v, list | dict) else v for v in row) for row in rows]
    return pl.DataFrame(rows, schema=as_postgres(like.clear()).schema, orient="row")


def as_postgres(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame as `of_postgres` gives it."""
    flat = frame.with_columns(pl.selectors.duration().dt.total_microseconds())
    return flat.with_columns(as_text(c) for c in flat.get_columns() if c.dtype.is_nested())


def of_redis(key: str, like: pl.DataFrame) -> pl.DataFrame:
    """The fields of a stream's entries, or of hashes whose names begin so."""
    client = redis().client
    found = [fields for _, fields in client.xrange(key)]
    found += [client.hgetall(name) for name in client.keys(f"{key}:*")]
    rows = [{k.decode(): v.decode() for k, v in fields.items()} for fields in found]
    return pl.DataFrame(rows, schema=dict.fromkeys(like.columns, pl.String))
