from __future__ import annotations

import logging
import ssl
import sys

import polars as pl
import pytest

from jupyter_stream.core import logs
from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import SourceError
from tests.sources.senders import WebSockets
from tests.sources.servers import Live, free_port, opened, receivers
from tests.tiers import slow
from tests.waiting import until

NUMBERS = Schema.of([("n", pl.Int64()), ("s", pl.String())])
WORD = "hunter2-very-secret"


@pytest.fixture
def server(tmp_path):
    made = WebSockets(tmp_path)
    yield made
    made.close()


def test_messages_as_text_or_bytes_and_bad_ones_told(server):
    live = Live(opened(server.address, NUMBERS, send='{"subscribe": "t"}'))
    until(server.listeners)
    server.send('{"n": 1,\n "s": "ä"}')
    server.send("nonsense")
    server.send(b'{"n": 2}')
    assert live.until(2) == [(1, "ä"), (2, None)]
    assert live.rejected[0][0] == "nonsense" and f"({server.address}, message 2)" in live.rejected[0][1]
    assert server.heard == ['{"subscribe": "t"}']
    live.stop()
    until(lambda: not receivers())


@pytest.mark.parametrize(
    ("options", "value", "names", "row"),
    [
        ({}, '{"n": 1, "x": 1.5}', ("n", "x"), (1, 1.5)),
        ({"format": "csv"}, "1,a", ("column_1", "column_2"), (1, "a")),
        ({"format": "text"}, "on", ("value",), ("on",)),
    ],
)
def test_the_first_messages_tell_the_columns(tmp_path, options, value, names, row):
    class Greeting(WebSockets):
        def _meet(self, client):
            client.send(value)
            super()._meet(client)

    server = Greeting(tmp_path)
    source = opened(server.address, **options)
    assert source.schema.names == names
    live = Live(source)
    assert live.until(1) == [row]
    live.stop()
    server.close()


def test_it_goes_on_when_the_server_was_away(server, tmp_path):
    live = Live(opened(server.address, NUMBERS), "n")
    until(server.listeners)
    server.send('{"n": 1}')
    live.until(1)
    server.close()
    until(lambda: live.trouble)
    assert f"127.0.0.1:{server.port}" in live.trouble
    back = WebSockets(tmp_path, server.port)
    until(back.listeners)
    back.send('{"n": 2}')
    assert live.until(2) == [(1,), (2,)] and live.trouble is None
    live.stop()
    back.close()


@pytest.mark.parametrize(
    ("config", "sent"),
    [
        ({"token": WORD}, f"Bearer {WORD}"),
        ({"headers": {"Authorization": f"Own {WORD}"}}, f"Own {WORD}"),
        ({"username": "me", "password": "pass-word"}, "Basic bWU6cGFzcy13b3Jk"),
    ],
)
def test_credentials_are_sent_and_shown_in_no_log_and_a_refusal_ends_the_stream(tmp_path, caplog, config, sent):
    caplog.set_level(logging.DEBUG)

    def let_in(connection, request):
        return None if request.headers.get("Authorization") == sent else connection.respond(401, "no")

    server = WebSockets(tmp_path, process_request=let_in)
    live = Live(opened(server.address, NUMBERS, {"mine": config}, config="mine"))
    until(server.listeners)
    server.send('{"n": 1}')
    live.until(1)
    live.stop()
    with pytest.raises(SourceError, match="HTTP status 401") as told:
        opened(server.address.replace("://", "://me:wrong-but-secret@"))
    assert "wrong-but-secret" not in str(told.value)
    server.close()
    assert logs.flush()
    assert sent not in "".join(r.getMessage() for r in caplog.records if r.name != "websockets.server")


@slow
def test_over_tls_the_server_is_known_by_its_certificate(tmp_path, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    server = WebSockets(tmp_path, ssl=context)
    uri = server.address.replace("ws://", "wss://")
    live = Live(opened(uri, NUMBERS, {"mine": {"ca": certificate[0]}}, config="mine"))
    until(server.listeners)
    server.send('{"n": 1}')
    assert live.until(1)[0] == (1, None)
    live.stop()
    unknown = Live(opened(uri, NUMBERS))
    until(lambda: unknown.trouble)
    assert "certificate verify failed" in unknown.trouble
    unknown.stop()
    server.close()


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "websockets.sync.client", None)
    with pytest.raises(SourceError, match=r"pip install 'jupyter-stream\[ws\]'"):
        opened(f"ws://127.0.0.1:{free_port()}", NUMBERS)
