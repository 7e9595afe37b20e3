"""`mqtt://host:port/topic`: the messages of a topic, or of several with `+` and `#`.

With `qos` 1 or 2 a broker that stays keeps what is sent while a connection is lost, for five minutes: the session goes on.
"""

from __future__ import annotations

import contextlib
import secrets
import ssl
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import polars as pl

from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.broker import ANSWER, CREDENTIALS, AccessRefused, BrokerSource, ServerUnreachable, missing
from jupyter_stream.sources.inbox import Inbox
from jupyter_stream.sources.messages import OPTIONS
from jupyter_stream.sources.options import choice
from jupyter_stream.sources.protocol import Context, Source, SourceConnector

_LOOK: Final = 0.1
"""Seconds between looks whether more is wanted."""
_KEPT: Final = 300
"""Seconds for which the broker keeps what is sent while the connection is lost."""
_ALIVE: Final = 20
"""Seconds without a word after which the broker is asked whether it is there."""
_DENIED: Final = frozenset({"Not authorized", "Bad user name or password", "Banned", "Bad authentication method"})


class MqttSource(BrokerSource):
    """The messages of topics."""

    about = Schema.of([("topic", pl.String())])
    example = "mqtt://localhost:1883/sensors/+/temperature"
    takes: ClassVar[Mapping[str, str]] = {
        "qos": "how surely messages are to come: '1' at least once (the default), '2' exactly once, '0' at most once",
        **OPTIONS,
        "topic": "the column that has the topic of a message",
        "config": CREDENTIALS,
    }
    port = 1883

    def check(self) -> None:
        """Raise `SourceError` for what can't be."""
        self._client = _library(self.scheme)
        self._tls = self.scheme == "mqtts"
        self._port = self.given_port or (8883 if self._tls else self.port)
        self.at = f"{self.host}:{self._port}"
        self._topic = self.path.removeprefix("/")
        levels = self._topic.split("/")
        if not self._topic:
            raise SourceError(f"'{self.shown}' names no topic.", hint=f"Write '{self.example}'.")
        if "#" in "".join(levels[:-1]) or any(len(level) > 1 and set(level) & {"+", "#"} for level in levels):
            raise SourceError(
                f"'{self._topic}' is no topic.",
                hint="+ stands for one level, # for all levels at the end: 'sensors/+/room/#'.",
            )
        self._qos = int(choice(self.options, "qos", ("0", "1", "2"), "1"))

    def receive(self, inbox: Inbox) -> None:
        """One connection, in the session of those before it."""
        client = self._new(inbox)
        outcome: list[Exception] = []

        def connected(client: Any, _: object, flags: object, reason: Any, properties: object) -> None:
            if reason.is_failure:
                kind = AccessRefused if str(reason) in _DENIED else ServerUnreachable
                outcome.append(kind(f"The MQTT broker at {self.at} refuses the connection: {reason}."))
            else:
                client.subscribe(self._topic, qos=self._qos)

        def subscribed(client: object, _: object, number: object, reasons: list[Any], properties: object) -> None:
            if reasons[0].is_failure:
                outcome.append(
                    AccessRefused(f"The MQTT broker at {self.at} refuses topic '{self._topic}': {reasons[0]}.")
                )
            else:
                inbox.is_connected()

        def message(client: object, _: object, message: Any) -> None:
            # what was sent with qos 0 nobody keeps: the broker would drop it in silence
            (inbox.put if message.qos else inbox.offer)([(message.payload, message.topic)])

        client.on_connect, client.on_subscribe, client.on_message = connected, subscribed, message
        try:
            code = client.connect(
                self.host, self._port, keepalive=_ALIVE, clean_start=inbox.looking, properties=self._kept(inbox)
            )
            while not code and not outcome and not inbox.closed.is_set():
                code = client.loop(_LOOK)
        except (OSError, ValueError) as error:
            raise ServerUnreachable(f"No MQTT broker answers at {self.at}: {error}.") from None
        finally:
            with contextlib.suppress(OSError, ValueError):
                self._leave(client, inbox)
        if outcome:
            raise outcome[0]
        if code:
            raise ServerUnreachable(f"No MQTT broker answers at {self.at}: {self._client.error_string(code)}")

    def _new(self, inbox: Inbox) -> Any:
        """A client, of the same name for each connection of a read."""
        if inbox.position is None:
            inbox.position = f"jupyter-stream-{secrets.token_hex(6)}"
        client = self._client.Client(
            self._client.CallbackAPIVersion.VERSION2,
            inbox.position,
            protocol=self._client.MQTTv5,
            reconnect_on_failure=False,
        )
        client.connect_timeout = ANSWER
        config = self.config
        if config.get("username"):
            client.username_pw_set(config["username"], config.get("password"))
        if self._tls:
            context = ssl.create_default_context(cafile=config.get("ca"))
            if config.get("cert"):
                context.load_cert_chain(config["cert"], config.get("key"))
            client.tls_set_context(context)
        return client

    def _kept(self, inbox: Inbox) -> Any:
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        properties = Properties(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = 0 if inbox.looking or not self._qos else _KEPT
        return properties

    def _leave(self, client: Any, inbox: Inbox) -> None:
        """Say goodbye: when nobody wants more, the broker need not keep the session."""
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        if not inbox.closed.is_set():
            sock = client.socket()
            if sock is not None:
                sock.close()
            return
        properties = Properties(PacketTypes.DISCONNECT)
        properties.SessionExpiryInterval = 0
        client.disconnect(properties=properties)
        client.loop(0)


def _library(scheme: str) -> Any:
    try:
        import paho.mqtt.client as client
    except ImportError:
        raise missing(scheme, "paho-mqtt", "mqtt") from None
    return client


def _open(context: Context) -> Source:
    return MqttSource(context)


MQTT = SourceConnector(
    scheme="mqtt",
    also=("mqtts",),
    example=MqttSource.example,
    options=MqttSource.takes,
    open=_open,
)
