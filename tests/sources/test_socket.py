from __future__ import annotations

import socket
import threading

import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import QueryError, SourceError
from jupyter_stream.sources.inbox import Inbox
from jupyter_stream.sources.protocol import Trouble
from tests.sources.servers import Live, free_port, opened, receivers
from tests.waiting import PATIENCE, until

NUMBERS = Schema.of([("n", pl.Int64()), ("s", pl.String())])


class Lines:
    """A server of lines for one client at a time."""

    def __init__(self, port: int = 0) -> None:
        self._listener = socket.create_server(("127.0.0.1", port or free_port()))
        self._listener.settimeout(PATIENCE)
        self.port = self._listener.getsockname()[1]
        self._client: socket.socket | None = None

    def accept(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client, _ = self._listener.accept()

    def send(self, text: str | bytes) -> None:
        if self._client is None:
            self.accept()
        assert self._client is not None
        self._client.sendall(text.encode() if isinstance(text, str) else text)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        self._listener.close()


@pytest.fixture
def lines():
    made = Lines()
    yield made
    made.close()


def test_lines_are_messages_however_they_are_cut(lines):
    live = Live(opened(f"socket://127.0.0.1:{lines.port}", NUMBERS))
    lines.send('{"n": 1, "s": "a"}\n\n{"n": 2')
    assert live.until(1) == [(1, "a")]
    lines.send('}\r\n{"n": 3}\n')
    assert live.until(3)[1:] == [(2, None), (3, None)]
    live.stop()


def test_bad_lines_are_told_with_their_place(lines):
    live = Live(opened(f"socket://127.0.0.1:{lines.port}", NUMBERS))
    lines.send(b'{"n": "x"}\nnonsense\n{"n": 3}\n')
    assert live.until(1) == [(3, None)]
    places = {raw: reason.rpartition(" (")[2] for raw, reason in live.rejected}
    where = f"socket://127.0.0.1:{lines.port}"
    assert places == {'{"n": "x"}': f"{where}, message 1)", "nonsense": f"{where}, message 2)"}
    live.stop()


def test_text_of_the_first_messages_that_looks_like_a_time_is_asked_for_by_the_first_window(lines):
    threading.Thread(target=lines.send, args=('{"at": "May 1st", "v": 1}\n',), daemon=True).start()
    with Session({}) as session:
        said = str(session.run(f"CREATE STREAM s SOURCE 'socket://127.0.0.1:{lines.port}'")[0])
        assert "at looks like a time" in said
        with pytest.raises(QueryError, match="at looks like it, but is text"):
            session.execute("SELECT count(*) FROM s [RANGE 1 MINUTE TUMBLING]")


@pytest.mark.parametrize(
    ("options", "sent", "names", "row"),
    [
        ({}, '{"n": 1, "at": "2026-01-01 10:00:00"}\n', ("n", "at"), (2, None)),
        ({"format": "csv", "delimiter": ";"}, "1;x\n", ("column_1", "column_2"), (2, "y")),
    ],
)
def test_the_first_messages_tell_the_columns(lines, options, sent, names, row):
    threading.Thread(target=lines.send, args=(sent,), daemon=True).start()
    source = opened(f"socket://127.0.0.1:{lines.port}", **options)
    assert source.schema.names == names
    live = Live(source)
    lines.accept()
    lines.send("2;y\n" if "delimiter" in options else '{"n": 2}\n')
    assert live.until(1) == [row]
    live.stop()


def test_texts_have_one_column_before_anything_has_come(lines):
    live = Live(opened(f"socket://127.0.0.1:{lines.port}", format="text"))
    lines.send('{"n": 2}\n')
    assert live.until(1) == [('{"n": 2}',)]
    live.stop()


def test_text_that_is_no_utf8_is_told(lines):
    live = Live(opened(f"socket://127.0.0.1:{lines.port}", Schema.of([("line", pl.String())]), format="text"))
    lines.send(b'\xff\xfe\n"a" , \xc3\xa4\n')
    assert live.until(1) == [('"a" , ä',)]
    assert "UTF-8" in live.rejected[0][1]
    live.stop()
    with pytest.raises(SourceError, match="one column of type STRING"):
        opened(f"socket://127.0.0.1:{lines.port}", NUMBERS, format="text")


def test_a_server_that_goes_away_and_comes_back(lines):
    live = Live(opened(f"socket://127.0.0.1:{lines.port}", NUMBERS), "n")
    lines.send('{"n": 1}\n{"n": 2, "s": "hal')
    live.until(1)
    lines.close()
    until(lambda: live.trouble)
    assert f"127.0.0.1:{lines.port}" in live.trouble and "goes on when it is back" in live.trouble
    back = Lines(lines.port)
    back.send('{"n": 3}\n')
    assert live.until(2) == [(1,), (3,)] and live.trouble is None
    assert live.rejected == [
        ('{"n": 2, "s": "hal', f"the connection ended in the middle of this line (socket://127.0.0.1:{lines.port})")
    ]
    live.stop()
    back.close()


def test_it_waits_for_a_server_that_is_not_there_yet_and_stops_meanwhile():
    port = free_port()
    live = Live(opened(f"socket://{port}", NUMBERS), "n")
    until(lambda: live.trouble)
    late = Lines(port)
    late.send('{"n": 1}\n')
    live.until(1)
    live.stop()
    until(lambda: not receivers())
    late.close()


def test_without_columns_there_must_be_a_server_to_tell_them():
    with pytest.raises(SourceError, match="are not known before its messages come") as told:
        opened(f"socket://127.0.0.1:{free_port()}")
    assert "Nothing answers" in str(told.value) and "CREATE STREAM name (" in str(told.value)


@pytest.mark.parametrize("uri", ["socket://localhost", "socket://", "socket://h:x", "socket://h:1/path"])
def test_an_address_that_can_not_be_says_how_to_write_it(uri):
    with pytest.raises(SourceError, match="socket://localhost:9999"):
        opened(uri, NUMBERS)


def test_more_than_there_is_room_for_holds_the_server_back_or_is_counted():
    inbox = Inbox(Trouble(), room=500)
    inbox.put([(b"x" * 600,)])
    inbox.offer([(b"y",), (b"z",)])
    waits = threading.Thread(target=inbox.put, args=([(b"later",)],))
    waits.start()
    never = threading.Event()
    items, faults = inbox.take(never)
    assert items == [(b"x" * 600,)] and faults[0][1].startswith("2 messages were dropped")
    assert inbox.take(never) == ([(b"later",)], [])
    waits.join(PATIENCE)
