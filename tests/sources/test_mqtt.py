from __future__ import annotations

import subprocess
import sys
import threading

import polars as pl
import pytest

from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import SourceError
from tests.sources.senders import Mqtt
from tests.sources.servers import Live, Proxy, free_port, opened, receivers
from tests.waiting import PATIENCE, until

NUMBERS = Schema.of([("n", pl.Int64()), ("s", pl.String())])
WORD = "hunter2-very-secret"


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    made = Mqtt(tmp_path_factory.mktemp("mqtt"))
    yield made
    made.close()


def at(broker: Mqtt, topic: str) -> str:
    return broker.address.removesuffix("/t") + "/" + topic


def listening(broker: Mqtt, name: str, *columns: str, **options: str) -> Live:
    """A read whose connection is there."""
    schema = Schema.of([*((f.name, f.dtype) for f in NUMBERS), *((name, pl.String()) for name in options.values())])
    source = opened(at(broker, name), schema, **options)
    begun = threading.Event()
    receive = source.receive

    def told(inbox):
        well = inbox.well
        inbox.well = lambda: (well(), begun.set())
        receive(inbox)

    source.receive = told
    live = Live(source, *columns)
    assert begun.wait(PATIENCE)
    return live


@pytest.mark.parametrize("topic", ["a/b", "a/+", "a/#", "#"])
def test_messages_of_a_topic_or_of_several(broker, topic):
    live = listening(broker, topic, topic="which")
    broker.send('{"n": 1, "s": "ä"}', "a/b")
    assert live.until(1) == [(1, "ä", "a/b")]
    live.stop()
    until(lambda: not receivers())


@pytest.mark.parametrize(
    ("options", "value", "names", "row"),
    [
        ({}, '{"n": 1, "x": 1.5}', ("n", "x"), (1, 1.5)),
        ({"format": "csv"}, "1,a", ("column_1", "column_2"), (1, "a")),
        ({"format": "text", "topic": "which"}, "on", ("value", "which"), ("on", "kept/1")),
    ],
)
def test_what_the_broker_retains_tells_the_columns_and_comes_first(broker, options, value, names, row):
    broker.send(value, "kept/1", retain=True)
    source = opened(at(broker, "kept/#"), **options)
    assert source.schema.names == names
    live = Live(source)
    assert live.until(1) == [row]
    live.stop()
    broker.send("", "kept/1", retain=True)


def test_bad_messages_are_told_with_their_topic(broker):
    live = listening(broker, "bad/+")
    for i, value in enumerate((b"nonsense", b'{"n": "x"}', b"\xff", '{"n": 1}')):
        broker.send(value, f"bad/{i}")
    assert live.until(1) == [(1, None)]
    assert sorted(reason.rpartition(", ")[2] for _, reason in live.rejected) == ["bad/0)", "bad/1)", "bad/2)"]
    live.stop()


def test_it_goes_on_when_the_broker_was_killed(broker):
    live = listening(broker, "k", "n")
    broker.send('{"n": 1}', "k")
    live.until(1)
    broker.program.kill()
    until(lambda: live.trouble)
    assert f"No MQTT broker answers at 127.0.0.1:{broker.program.port}" in live.trouble
    broker.program.start()
    until(lambda: live.trouble is None)
    broker.send('{"n": 2}', "k")
    assert live.until(2) == [(1,), (2,)]
    live.stop()


def test_what_is_sent_while_the_connection_is_lost_comes_when_it_is_back(broker):
    proxy = Proxy(broker.program.port)
    live = Live(opened(f"mqtt://127.0.0.1:{proxy.port}/held", NUMBERS), "n")
    until(lambda: broker.send('{"n": 0}', "held") or live.rows)
    proxy.cut()
    until(lambda: live.trouble)
    broker.send('{"n": 1}', "held")
    broker.send('{"n": 2}', "held")
    proxy.mend()
    until(lambda: [n for (n,) in live.rows if n] == [1, 2], lambda: (live.rows, live.trouble))
    live.stop()
    proxy.cut()


def test_passwords(tmp_path):
    (tmp_path / "users").touch(mode=0o600)
    subprocess.run(["mosquitto_passwd", "-b", str(tmp_path / "users"), "me", WORD], check=True)
    broker = Mqtt(tmp_path, "allow_anonymous false", f"password_file {tmp_path / 'users'}", "user root")
    auth = {"username": "me", "password": WORD}
    broker.send('{"n": 1}', retain=True, auth=auth)
    live = Live(opened(broker.address, NUMBERS, {"mine": auth}, config="mine"))
    assert live.until(1) == [(1, None)]
    live.stop()
    with pytest.raises(SourceError, match="refuses the connection") as told:
        opened(broker.address.replace("://", "://me:wrong-but-secret@"))
    assert "wrong-but-secret" not in str(told.value)
    refused = Live(opened(broker.address, NUMBERS))
    until(lambda: refused.error)
    broker.close()


@pytest.mark.parametrize(
    ("path", "options", "told"),
    [
        ("", {}, "names no topic"),
        ("a/#/b", {}, "is no topic"),
        ("a+/b", {}, "is no topic"),
        ("a", {"qos": "3"}, "qos"),
        ("a?qoss=1", {}, "Did you mean 'qos'"),
    ],
)
def test_what_can_not_be_is_refused_when_the_stream_is_made(path, options, told):
    with pytest.raises(SourceError) as error:
        opened(f"mqtt://127.0.0.1:{free_port()}/{path}", NUMBERS, **options)
    assert told in str(error.value)


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "paho.mqtt.client", None)
    with pytest.raises(SourceError, match=r"pip install 'jupyter-stream\[mqtt\]'"):
        opened("mqtt://h/k", NUMBERS)


def test_over_tls_the_broker_is_known_by_its_certificate(tmp_path, certificate):
    cert, key = certificate
    broker = Mqtt(tmp_path, "allow_anonymous true", f"certfile {cert}", f"keyfile {key}", "user root")
    broker.send('{"n": 1}', retain=True, tls={"ca_certs": cert})
    uri = broker.address.replace("mqtt://", "mqtts://")
    live = Live(opened(uri, NUMBERS, {"mine": {"ca": cert}}, config="mine"))
    assert live.until(1) == [(1, None)]
    live.stop()
    unknown = Live(opened(uri, NUMBERS))
    until(lambda: unknown.trouble)
    assert "certificate verify failed" in unknown.trouble
    unknown.stop()
    broker.close()
