"""`mqtt://host:port/topic`: a message for each row, its payload the row as JSON or Avro, with `row_id` as a user property."""

from __future__ import annotations

import secrets
import ssl
import time
from typing import Any, Final

import polars as pl

from jupyter_stream.core.address import CREDENTIALS, PLAIN
from jupyter_stream.errors import SinkError
from jupyter_stream.sinks.messages import OPTIONS, MessageWriter, shown
from jupyter_stream.sinks.options import choice, flag
from jupyter_stream.sinks.protocol import ROW_ID, Sink, SinkConnector, SinkUnreachable, Target
from jupyter_stream.sinks.server import Server, missing

_EXAMPLE: Final = "mqtt://localhost:1883/alerts"
_PATIENCE: Final = 10.0
"""Seconds a broker has to take the messages of a commit; then the sink is away."""
_AT_ONCE: Final = 1_000
"""Messages on their way at once."""
_NEVER: Final = frozenset(
    {"Not authorized", "Topic name invalid", "Payload format invalid", "Packet too large", "Retain not supported"}
)
"""Reasons that a message brings itself: it would fail again."""


class MqttSink:
    """A topic. Raises `SinkError` when it is made: no topic that can be, or without the package `paho-mqtt`."""

    def __init__(self, target: Target) -> None:
        try:
            import paho.mqtt.client as client
        except ImportError:
            raise missing("mqtt", "paho-mqtt", "mqtt") from None
        self._library: Any = client
        server = Server.of(target, _EXAMPLE, PLAIN)
        self._server, self._topic = server, server.path
        self._tls = server.address.scheme == "mqtts"
        self._port = server.address.port or (8883 if self._tls else 1883)
        self._at = server.at(self._port)
        if not self._topic or set(self._topic) & {"+", "#"}:
            raise SinkError("the address names no one topic.", hint=f"Write TO '{_EXAMPLE}'.")
        self._qos = int(choice(target.options, "qos", ("1", "2"), "1"))
        self._retain = flag(target.options, "retain")
        self._writer = MessageWriter(target)
        self._client: Any = None
        self._told: dict[int, Any] = {}  # what the broker said, by message number; 0 is the connection

    def check(self) -> None:
        """Look whether it lets us in."""
        self._connected()
        self.close()

    def _connected(self) -> Any:
        """A client with a connection, its network in a thread of its own."""
        if self._client is not None:
            return self._client
        library, config = self._library, self._server.config
        client = library.Client(
            library.CallbackAPIVersion.VERSION2,
            f"jupyter-stream-{secrets.token_hex(6)}",
            protocol=library.MQTTv5,
            reconnect_on_failure=False,
        )
        client.connect_timeout = _PATIENCE / 2
        client.on_connect = lambda _client, _data, _flags, reason, _properties: self._told.update({0: reason})
        client.on_publish = self._heard
        client.max_inflight_messages_set(_AT_ONCE)
        if config.get("username"):
            client.username_pw_set(config["username"], config.get("password"))
        if self._tls:
            client.tls_set_context(_context(config))
        try:
            client.connect(self._server.address.host, self._port, keepalive=20)
        except (OSError, ValueError) as error:
            raise self._away(error) from None
        client.loop_start()
        self._client = client
        self._wait(1)
        reason = self._told.pop(0)
        if reason.is_failure:
            self.close()
            kind = SinkError if str(reason) in ("Not authorized", "Bad user name or password") else SinkUnreachable
            raise kind(f"the MQTT broker at {self._at} refuses the connection: {reason}.")
        return client

    def _heard(self, _client: object, _data: object, number: int, reason: Any, _properties: object) -> None:
        """The broker has said what becomes of a message."""
        self._told[number] = reason

    def append(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        """Publish a message for each row, and wait until the broker has them."""
        if not rows.height:
            return None
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        client = self._connected()
        ids = rows.get_column(ROW_ID).to_list()
        values, reasons = self._writer.messages(rows)
        rest = [i for i in range(len(values)) if i not in reasons]
        for first in range(0, len(rest), _AT_ONCE):
            sent: dict[int, int] = {}
            for i in rest[first : first + _AT_ONCE]:
                said = Properties(PacketTypes.PUBLISH)
                said.UserProperty = (ROW_ID, ids[i])
                info = client.publish(self._topic, values[i], self._qos, self._retain, said)
                if info.rc:
                    raise self._away(self._library.error_string(info.rc))
                sent[info.mid] = i
            self._wait(len(sent))
            for number, i in sent.items():
                reason = self._told.pop(number)
                if reason.is_failure and str(reason) not in _NEVER:
                    raise self._away(reason)
                if reason.is_failure:
                    reasons[i] = f"the broker says: {reason}"
        return shown(rows, reasons)

    def _wait(self, answers: int) -> None:
        """Wait for so many answers. Raises `SinkUnreachable` where they don't come, or the connection is lost."""
        until = time.monotonic() + _PATIENCE
        while len(self._told) < answers:
            lost = not self._client._thread.is_alive()
            if lost or time.monotonic() > until:
                raise self._away("the connection was lost" if lost else "no answer")
            time.sleep(0.001)

    def upsert(self, rows: pl.DataFrame, gone: pl.DataFrame) -> None:
        """A topic takes no row in another's place."""
        raise AssertionError("no mode of topics")

    def replace(self, rows: pl.DataFrame) -> None:
        """A topic only grows."""
        raise AssertionError("no mode of topics")

    def commit(self, number: int, position: str) -> None:
        """The broker has all messages."""

    def committed(self) -> tuple[int, str] | None:
        """A topic keeps no positions."""
        return None

    def abort(self) -> None:
        """Begin with a new connection: messages that wait are given up, and come again."""
        self.close()

    def close(self) -> None:
        """Let go of the broker."""
        client, self._client = self._client, None
        if client is not None:
            client.disconnect()
            client.loop_stop()
        self._told.clear()

    def _away(self, why: object) -> SinkUnreachable:
        return SinkUnreachable(f"the MQTT broker at {self._at} can't be written to: {why}")


def _context(config: dict[str, Any]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=config.get("ca"))
    if config.get("cert"):
        context.load_cert_chain(config["cert"], config.get("key"))
    return context


def _open(target: Target) -> Sink:
    return MqttSink(target)


MQTT: Final = SinkConnector(
    scheme="mqtt",
    also=("mqtts",),
    example=_EXAMPLE,
    options={
        "qos": "how surely the broker passes messages on: '1' at least once (the default), '2' exactly once",
        "retain": "'true' to have the broker keep the last message for those who come later",
        **OPTIONS,
        "config": CREDENTIALS,
    },
    modes=("changes", "append"),
    promise="at least once",
    how="the broker acknowledges each message; what is sent again after a failure has the same row_id, a user property",
    open=_open,
)
"""The connector of `mqtt://`."""
