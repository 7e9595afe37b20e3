"""A server for each scheme of messages, for tests that go through all of them: each is started when it is first asked for."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol

from tests.leftovers import shared
from tests.sources.servers import Program, free_port
from tests.waiting import PATIENCE, until


class Sender(Protocol):
    """A server, started."""

    address: str

    def send(self, message: str) -> None:
        """Give a message to whoever listens."""

    def close(self) -> None:
        """End."""


class Lines:
    """Lines over TCP, for any number of clients."""

    def __init__(self, folder: Path) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"socket://127.0.0.1:{self._listener.getsockname()[1]}"
        self._clients: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def send(self, message: str) -> None:
        for client in list(self._clients):
            try:
                client.sendall(message.encode() + b"\n")
            except OSError:
                self._clients.remove(client)
                client.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for client in self._clients:
            client.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._clients.append(self._listener.accept()[0])


class Redis:
    """A stream of Redis."""

    def __init__(self, folder: Path) -> None:
        import redis

        port = free_port()
        command = [
            "redis-server",
            "--port",
            str(port),
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",
            "--save",
            "",
            "--bind",
            "127.0.0.1",
        ]
        self.program = Program("redis-server", command, port, folder)
        self.address = f"redis://127.0.0.1:{port}/ticks"
        self.client = redis.Redis(port=port)
        until(self._answers)  # it takes connections before it has taken the name that it goes by from then on

    def _answers(self) -> bool:
        import redis

        try:
            return bool(self.client.ping())
        except redis.RedisError:
            return False

    def send(self, message: str) -> None:
        self.client.xadd("ticks", json.loads(message))

    def close(self) -> None:
        self.client.close()
        self.program.kill()


class Mqtt:
    """Mosquitto, and a client that publishes."""

    def __init__(self, folder: Path, *more: str) -> None:
        port = free_port()
        lines = (f"listener {port} 127.0.0.1", *(more or ("allow_anonymous true",)), "max_queued_messages 0")
        (folder / "conf").write_text("\n".join(lines) + "\n")
        self.program = Program("mosquitto", ["mosquitto", "-c", str(folder / "conf")], port, folder)
        self.address = f"mqtt://127.0.0.1:{port}/t"

    def send(self, message: str | bytes, topic: str = "t", qos: int = 1, **more: Any) -> None:
        from paho.mqtt import publish

        publish.single(topic, message, qos, hostname="127.0.0.1", port=self.program.port, **more)

    def close(self) -> None:
        self.program.kill()


class Nats:
    """A NATS server with JetStream, which keeps what is sent to `kept.>`."""

    def __init__(self, folder: Path) -> None:
        port = free_port()
        command = ["nats-server", "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder)]
        self.program = Program("nats-server", command, port, folder)
        self.address = f"nats://127.0.0.1:{port}/t"
        self.ask(lambda client: client.jetstream(timeout=PATIENCE).add_stream(name="KEPT", subjects=["kept.>"]))

    def ask(self, what: Callable[[Any], Any]) -> Any:
        """Have a client do something."""
        import nats

        async def asked() -> Any:
            client = await nats.connect(f"nats://127.0.0.1:{self.program.port}", connect_timeout=PATIENCE)
            try:
                return await what(client)
            finally:
                await client.flush(PATIENCE)
                await client.close()

        with ThreadPoolExecutor(1) as pool:  # a browser's tests leave a loop running in this thread
            return pool.submit(asyncio.run, asked()).result()

    def send(self, message: str | bytes, subject: str = "t") -> None:
        data = message if isinstance(message, bytes) else message.encode()
        self.ask(lambda client: client.publish(subject, data))

    def keep(self, *messages: str, subject: str = "kept.t") -> None:
        """Have JetStream keep messages."""

        async def kept(client: Any) -> None:
            for message in messages:
                await client.jetstream(timeout=PATIENCE).publish(subject, message.encode())

        self.ask(kept)

    def kept(self, subject: str) -> list[tuple[str, dict[str, str]]]:
        """What JetStream keeps of a subject: data and headers."""

        from nats.js.api import AckPolicy, ConsumerConfig

        async def read(client: Any) -> list[tuple[str, dict[str, str]]]:
            config = ConsumerConfig(ack_policy=AckPolicy.NONE)
            jetstream = client.jetstream(timeout=PATIENCE)
            listener = await jetstream.pull_subscribe(subject, stream="KEPT", config=config)
            count = (await listener.consumer_info()).num_pending
            found: list[Any] = []
            while len(found) < count:
                found += await listener.fetch(min(500, count - len(found)), timeout=PATIENCE)
            return [(message.data.decode(), dict(message.headers or {})) for message in found]

        return self.ask(read)

    def close(self) -> None:
        self.program.kill()


class WebSockets:
    """A server of WebSockets for any number of clients.

    Attributes:
        heard: what clients sent.
    """

    def __init__(self, folder: Path, port: int = 0, **more: Any) -> None:
        from websockets.sync.server import serve

        self._clients: list[Any] = []
        self.heard: list[str] = []
        self._server = serve(self._meet, "127.0.0.1", port or free_port(), open_timeout=PATIENCE, **more)
        self.port = self._server.socket.getsockname()[1]
        self.address = f"ws://127.0.0.1:{self.port}/t"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def send(self, message: str | bytes) -> None:
        from websockets.exceptions import ConnectionClosed

        for client in list(self._clients):
            with contextlib.suppress(ConnectionClosed):
                client.send(message)

    def listeners(self) -> int:
        return len(self._clients)

    def close(self) -> None:
        self._server.shutdown()
        for client in list(self._clients):
            with contextlib.suppress(OSError):
                client.socket.shutdown(socket.SHUT_RDWR)

    def _meet(self, client: Any) -> None:
        self._clients.append(client)
        for message in client:
            self.heard.append(message)
        self._clients.remove(client)


class Web:
    """A web server: all messages as lines, with an ETag, or as events with ids from 1 on.

    Attributes:
        messages: all.
        asked: path and headers of each question.
        kind: the type of its answers; the body is the messages, in brackets where it is JSON.
        status: of its answers.
    """

    scheme = "http"

    def __init__(self, folder: Path | None = None, port: int = 0, messages: list[str] | None = None) -> None:
        self.messages: list[str] = [] if messages is None else messages
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.kind, self.status, self.over = "text/plain", 200, False
        self._open: list[socket.socket] = []
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                web._open.append(self.connection)
                if web.over:  # it came while the server was closed
                    self.connection.shutdown(socket.SHUT_RDWR)

            def do_GET(self) -> None:
                web.asked.append((self.path, dict(self.headers)))
                with contextlib.suppress(OSError):
                    self.events() if "text/event-stream" in self.headers.get("Accept", "") else self.lines()

            def lines(self) -> None:
                messages = list(web.messages)  # more may come meanwhile
                tag = f'"{len(messages)}"'
                same = self.headers.get("If-None-Match") == tag
                text = "[" + ",".join(messages) + "]" if web.kind == "application/json" else "\n".join(messages)
                self.send_response(304 if same else web.status)
                self.send_header("ETag", tag)
                self.send_header("Content-Length", "0" if same else str(len(text.encode())))
                self.end_headers()
                self.wfile.write(b"" if same else text.encode())

            def events(self) -> None:
                self.send_response(web.status)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                sent = int(self.headers.get("Last-Event-ID", 0))
                while not web.over and not self.left():
                    for message in web.messages[sent:]:
                        sent += 1
                        self.wfile.write(f": a comment\nid: {sent}\nevent: tick\ndata: {message}\n\n".encode())
                    time.sleep(0.01)

            def left(self) -> bool:
                """Whether the client has gone: nothing of it can be read, not even nothing yet."""
                with contextlib.suppress(BlockingIOError):
                    return self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
                return False

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port or free_port()), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.address = f"{self.scheme}://127.0.0.1:{self.port}/t"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def send(self, message: str) -> None:
        self.messages.append(message)

    def close(self) -> None:
        self.over = True
        self._server.shutdown()
        self._server.server_close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class Events(Web):
    """The same, sending events by itself."""

    scheme = "sse+http"


MAKE: dict[str, Callable[[Path], Sender]] = {
    "socket": Lines,
    "redis": Redis,
    "mqtt": Mqtt,
    "nats": Nats,
    "ws": WebSockets,
    "http": Web,
    "sse+http": Events,
}


class Senders:
    """The servers that were asked for.

    Attributes:
        schemes: for which there is one.
    """

    schemes = frozenset(MAKE)

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[str, Sender] = {}

    def address(self, scheme: str) -> str:
        if scheme not in self._made:
            folder = self._folder / scheme
            folder.mkdir(exist_ok=True)
            with shared():
                self._made[scheme] = MAKE[scheme](folder)
        return self._made[scheme].address

    def send(self, scheme: str, message: str) -> None:
        self._made[scheme].send(message)

    def close(self) -> None:
        for sender in self._made.values():
            sender.close()
