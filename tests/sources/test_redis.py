from __future__ import annotations

import datetime as dt
import sys

import polars as pl
import pytest

from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.errors import SourceError
from tests.sources.senders import Redis
from tests.sources.servers import Live, Program, free_port, opened
from tests.waiting import until

NUMBERS = Schema.of([("n", pl.Int64()), ("s", pl.String())])


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = Redis(tmp_path_factory.mktemp("redis"))
    yield made
    made.close()


@pytest.fixture
def redis(server):
    server.client.flushall()
    return server


def at(redis: Redis, key: str) -> str:
    return redis.address.replace("ticks", key)


def test_entries_from_the_first_on_with_what_redis_says_of_them(redis):
    redis.client.xadd("k", {"n": 1, "s": 'ä\n"b"'}, id="1700000000123-5")
    schema = Schema.of([*((f.name, f.dtype) for f in NUMBERS), ("which", pl.String()), ("at", TIMESTAMP)])
    live = Live(opened(at(redis, "k"), schema, start="earliest", id="which", timestamp="at"))
    assert live.until(1) == [(1, 'ä\n"b"', "1700000000123-5", dt.datetime(2023, 11, 14, 22, 13, 20, 123_000))]
    redis.client.xadd("k", {"n": 2}, id="1700000000123-6")
    assert live.until(2)[1][:3] == (2, None, "1700000000123-6")
    live.stop()
    after = Live(opened(at(redis, "k"), NUMBERS, start="1700000000123-5"))
    assert after.until(1) == [(2, None)]
    after.stop()


def test_by_default_only_what_comes_is_read_and_columns_are_those_of_entries_that_are_there(redis):
    redis.client.xadd("k", {"n": "1", "x": "1.5", "day": "2026-01-01", "zip": "01234"})
    redis.client.xadd("k", {"n": "2", "x": "7", "day": "2026-01-02", "zip": "99999"})
    source = opened(at(redis, "k"), id="which")
    assert [(f.name, f.dtype) for f in source.schema] == [
        ("n", pl.Int64()), ("x", pl.Float64()), ("day", pl.Date()), ("zip", pl.String()), ("which", pl.String()),
    ]  # fmt: skip
    live = Live(source, "n", "zip")
    until(lambda: redis.client.xadd("k", {"n": "3", "x": "7", "day": "2026-01-02", "zip": "00001"}) and live.rows)
    assert live.rows[0] == (3, "00001")
    live.stop()


@pytest.mark.parametrize(("form", "value"), [("json", '{"n": 1, "s": "a"}'), ("csv", "1,a")])
def test_one_field_of_an_entry_may_hold_the_message(redis, form, value):
    redis.client.xadd("k", {"data": value, "other": "x"})
    live = Live(opened(at(redis, "k"), NUMBERS, start="earliest", field="data", format=form))
    assert live.until(1) == [(1, "a")]
    live.stop()


def test_bad_entries_are_told_with_their_id(redis):
    redis.client.xadd("k", {"n": "one"}, id="1-0")
    redis.client.xadd("k", {"n": b"\xff"}, id="2-0")
    redis.client.xadd("k", {"n": "3"}, id="3-0")
    live = Live(opened(at(redis, "k"), NUMBERS, start="earliest"))
    assert live.until(1) == [(3, None)]
    assert sorted(reason.rpartition(", ")[2] for _, reason in live.rejected) == ["1-0)", "2-0)"]
    live.stop()


def test_nothing_is_lost_and_nothing_doubled_when_the_server_is_killed(redis):
    live = Live(opened(at(redis, "k"), NUMBERS, start="earliest"), "n")
    for i in range(5):
        redis.client.xadd("k", {"n": i})
    live.until(5)
    redis.program.kill()
    until(lambda: live.trouble)
    assert f"No Redis answers at 127.0.0.1:{redis.program.port}" in live.trouble
    redis.program.start()
    for i in range(5, 10):
        until(lambda i=i: _added(redis, i))
    assert live.until(10) == [(i,) for i in range(10)] and live.trouble is None
    live.stop()


def _added(redis: Redis, i: int) -> bool:
    import redis as library

    try:
        return bool(redis.client.xadd("k", {"n": i}))
    except library.exceptions.RedisError:
        return False


@pytest.mark.parametrize(("key", "channel"), [("news", "news"), ("news.*", "news.a")])
def test_what_is_published_to_a_channel_or_to_several(redis, key, channel):
    schema = Schema.of([("n", pl.Int64()), ("where", pl.String())])
    live = Live(opened(at(redis, key), schema, type="pubsub", channel="where"))
    until(lambda: redis.client.publish(channel, "nonsense"))
    redis.client.publish(channel, '{"n": 1}')
    assert live.until(1) == [(1, channel)]
    assert live.rejected[0][0] == "nonsense" and f", {channel})" in live.rejected[0][1]
    live.stop()


def test_a_channel_is_heard_again_after_the_server_was_killed(redis):
    live = Live(opened(at(redis, "news"), NUMBERS, type="pubsub"), "n")
    until(lambda: redis.client.publish("news", '{"n": 1}'))
    live.until(1)
    redis.program.kill()
    until(lambda: live.trouble)
    redis.program.start()
    until(lambda: live.trouble is None)
    until(lambda: redis.client.publish("news", '{"n": 2}'))
    live.until(2)
    live.stop()


def test_passwords_from_a_variable_the_environment_or_the_address(redis, monkeypatch):
    redis.client.xadd("k", {"n": 1})
    redis.client.config_set("requirepass", "hunter2-very-secret")
    try:
        monkeypatch.setenv("OUR_REDIS", "hunter2-very-secret")
        mine = {"password": "hunter2-very-secret"}
        host = at(redis, "k").removeprefix("redis://")
        for uri, options in (
            (f"redis://{host}", {"config": "mine"}),
            (f"redis://:${{OUR_REDIS}}@{host}", {}),
            (f"redis://default:hunter2-very-secret@{host}", {}),
        ):
            live = Live(opened(uri, NUMBERS, {"mine": mine}, start="earliest", **options))
            live.until(1)
            live.stop()
        with pytest.raises(SourceError, match="refuses") as told:
            opened(f"redis://default:wrong-but-secret@{host}")
        assert "wrong-but-secret" not in str(told.value)
        live = Live(opened(f"redis://{host}", NUMBERS))
        until(lambda: live.error)
        assert "Authentication required" in str(live.error)
    finally:
        redis.client.config_set("requirepass", "")


@pytest.mark.parametrize(
    ("path", "options", "told"),
    [
        ("", {}, "names no stream"),
        ("k", {"start": "yesterday"}, "start = 'latest'"),
        ("k", {"type": "list"}, "'pubsub'"),
        ("k", {"format": "csv"}, "field = 'data'"),
        ("k", {"type": "pubsub", "start": "earliest"}, "is for type = 'stream'"),
        ("k", {"channel": "s"}, "is for type = 'pubsub'"),
        ("k", {"config": "nothing"}, "does not exist"),
        ("k", {"config": "odd"}, "Did you mean 'password'"),
    ],
)
def test_what_can_not_be_is_refused_when_the_stream_is_made(path, options, told):
    with pytest.raises(SourceError) as error:
        opened(f"redis://127.0.0.1:{free_port()}/{path}", NUMBERS, {"odd": {"pasword": "x"}}, **options)
    assert told in str(error.value)


def test_a_key_that_is_no_stream_ends_the_query(redis):
    redis.client.set("k", "text")
    live = Live(opened(at(redis, "k"), NUMBERS))
    until(lambda: live.error)
    assert "is no stream" in str(live.error)


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(SourceError, match=r"pip install 'jupyter-stream\[redis\]'"):
        opened("redis://h/k", NUMBERS)


def test_the_environment_has_no_such_variable(monkeypatch):
    monkeypatch.delenv("NO_SUCH_VARIABLE", raising=False)
    with pytest.raises(SourceError, match="no variable NO_SUCH_VARIABLE"):
        opened("redis://:${NO_SUCH_VARIABLE}@h/k", NUMBERS)


def test_over_tls_the_server_is_known_by_its_certificate(tmp_path, certificate):
    import redis as library

    cert, key = certificate
    port = free_port()
    command = ["redis-server", "--port", "0", "--tls-port", str(port), "--tls-cert-file", cert, "--tls-key-file", key]
    server = Program("redis-server", [*command, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no"], port, tmp_path)
    client = library.Redis(port=port, ssl=True, ssl_ca_certs=cert)
    client.xadd("k", {"n": 1})
    live = Live(
        opened(f"rediss://localhost:{port}/k", NUMBERS, {"mine": {"ca": cert}}, start="earliest", config="mine")
    )
    assert live.until(1) == [(1, None)]
    live.stop()
    unknown = Live(opened(f"rediss://localhost:{port}/k", NUMBERS, start="earliest"))
    until(lambda: unknown.trouble)
    assert "CERTIFICATE_VERIFY_FAILED" in unknown.trouble.upper()
    unknown.stop()
    client.close()
    server.kill()
