from __future__ import annotations

import polars as pl
import pytest

from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.errors import SourceError
from tests.sources.senders import Nats
from tests.sources.servers import Live, free_port, opened
from tests.waiting import until

NUMBERS = Schema.of([("n", pl.Int64())])


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = Nats(tmp_path_factory.mktemp("nats"))
    yield made
    made.close()


def at(server: Nats, subject: str) -> str:
    return server.address.replace("/t", f"/{subject}")


def numbers(*some: int) -> list[str]:
    return [f'{{"n": {n}}}' for n in some]


def test_what_jetstream_keeps_from_the_first_message_on(server):
    server.keep(*numbers(1, 2), "nonsense", subject="kept.a.b")
    schema = Schema.of([("n", pl.Int64()), ("number", pl.Int64()), ("where", pl.String()), ("at", TIMESTAMP)])
    names = {"sequence": "number", "subject": "where", "timestamp": "at"}
    live = Live(opened(at(server, "kept.a.*"), schema, start="earliest", **names))
    rows = live.until(2)
    assert [row[0] for row in rows] == [1, 2] and {row[2] for row in rows} == {"kept.a.b"} and rows[0][3].year > 2000
    until(lambda: live.rejected)
    assert live.rejected[0][0] == "nonsense"
    live.stop()
    after = Live(opened(at(server, "kept.a.*"), NUMBERS, start=str(rows[1][1])))
    assert after.until(1) == [(2,)]
    after.stop()


def test_columns_are_those_of_messages_that_are_there_and_only_new_ones_are_read(server):
    server.keep('{"n": 1, "s": "a"}', subject="kept.columns")
    source = opened(at(server, "kept.columns"))
    assert source.schema == Schema.of([("n", pl.Int64()), ("s", pl.String())])
    live = Live(source)
    until(lambda: server.keep('{"n": 2, "s": "b"}', subject="kept.columns") or live.rows, step=0.05)
    assert live.rows[0] == (2, "b")
    live.stop()


def test_nothing_is_lost_and_nothing_doubled_when_the_server_is_killed(server):
    live = Live(opened(at(server, "kept.killed"), NUMBERS, start="earliest"))
    server.keep(*numbers(*range(5)), subject="kept.killed")
    live.until(5)
    server.program.kill()
    until(lambda: live.trouble)
    assert f"No NATS answers at 127.0.0.1:{server.program.port}" in live.trouble
    server.program.start()
    server.keep(*numbers(*range(5, 10)), subject="kept.killed")
    assert live.until(10) == [(n,) for n in range(10)] and live.trouble is None
    live.stop()


def test_what_is_sent_by_core_nats_is_heard_again_after_the_server_was_killed(server):
    live = Live(opened(at(server, "loose.>"), NUMBERS))
    until(lambda: server.send('{"n": 1}', "loose.x") or live.rows, step=0.05)
    server.program.kill()
    until(lambda: live.trouble)
    server.program.start()
    until(lambda: live.trouble is None)
    until(lambda: server.send('{"n": 2}', "loose.y") or (2,) in live.rows, step=0.05)
    live.stop()


@pytest.mark.parametrize(
    ("path", "options", "told"),
    [
        ("", {}, "names no subject"),
        ("a/b", {}, "names no subject"),
        ("a", {"start": "yesterday"}, "start = 'latest'"),
        ("a", {"type": "core", "start": "earliest"}, "core NATS keeps nothing"),
        ("a", {"config": "odd"}, "Did you mean 'password'"),
    ],
)
def test_what_can_not_be_is_refused_when_the_stream_is_made(path, options, told):
    with pytest.raises(SourceError) as error:
        opened(f"nats://127.0.0.1:{free_port()}/{path}", NUMBERS, {"odd": {"pasword": "x"}}, **options)
    assert told in str(error.value)


def test_a_subject_that_no_stream_keeps_has_no_beginning(server):
    live = Live(opened(at(server, "loose.z"), NUMBERS, start="earliest"))
    until(lambda: live.error)
    assert "No stream of JetStream" in str(live.error)
