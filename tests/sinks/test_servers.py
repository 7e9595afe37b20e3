"""Sinks at a server: killed in mid-stream and started again, nothing is lost; what each promises, and what it refuses."""

from __future__ import annotations

import asyncio
import json
import queue
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl
import pytest

from jupyter_stream import Session, SinkError, secrets
from jupyter_stream.core import logs
from jupyter_stream.core.schema import Schema
from jupyter_stream.sinks import open_sink
from jupyter_stream.sinks.protocol import SinkUnreachable, Target
from jupyter_stream.sinks.web import IDEMPOTENCY
from tests.sinks.takers import Listener, Webhook, mqtt, nats, of_postgres, postgres, redis, webhook
from tests.sources.servers import free_port
from tests.tiers import slow
from tests.waiting import until

WORD = "hunter2-very-secret"
ROWS = pl.DataFrame({"ts": range(100), "k": [f"k{i % 3}" for i in range(100)], "n": range(100)})


@pytest.fixture
def session() -> Iterator[Session]:
    rows: queue.SimpleQueue[dict[str, object] | None] = queue.SimpleQueue()
    with Session({"rows": ROWS, "given": iter(rows.get, None)}) as session:
        session.execute("CREATE STREAM s (ts BIGINT, k STRING, n BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        session.execute("CREATE STREAM live (ts BIGINT, n BIGINT) ORDER BY ts SOURCE 'python://given'")
        session.namespace["give"] = rows.put
        yield session


def begun(session: Session, uri: str, select: str = "SELECT n FROM live", **options: str) -> Any:
    given = ", ".join(f"{name} = '{value}'" for name, value in {"commit_every": "1 ms", **options}.items())
    return session.execute(f"INSERT INTO '{uri}' WITH ({given}) {select}")[0]


def give(session: Session, numbers: range) -> None:
    for n in numbers:
        session.namespace["give"]({"ts": n, "n": n})


def through_a_kill(
    session: Session, uri: str, kill: Callable[[], None], start: Callable[[], None], **options: str
) -> Any:
    """0 to 9 are written; 10 to 19 come while the server is killed, 20 to 29 once it is back."""
    q = begun(session, uri, **options)
    give(session, range(10))
    until(lambda: q.written == 10, lambda: q.sinks)
    kill()
    give(session, range(10, 20))
    until(lambda: q.sinks[0].trouble)
    assert q.status == "running" and "The query waits." in q.snapshot().hint
    start()
    give(session, range(20, 30))
    until(lambda: q.written == 30, lambda: q.sinks)
    session.namespace["give"](None)
    assert q.wait(200) and q.sinks[0].trouble is None and not q.errors.height
    return q


def test_postgresql_has_each_row_once_though_it_is_killed(session: Session) -> None:
    server = postgres()
    q = through_a_kill(session, f"{server.address}?table=killed", server.kill, server.start)
    found = of_postgres("killed", pl.DataFrame(schema={"n": pl.Int64}))
    assert sorted(found["n"]) == list(range(30)) and q.sinks[0].promise == "exactly once"


def test_redis_has_every_row_though_it_is_killed(session: Session) -> None:
    server = redis()
    through_a_kill(session, server.address.replace("ticks", "killed"), server.program.kill, server.program.start)
    entries = {fields[b"row_id"]: int(fields[b"n"]) for _, fields in server.client.xrange("killed")}
    assert sorted(entries.values()) == list(range(30))


def test_nats_keeps_each_row_once_though_it_is_killed(session: Session) -> None:
    server = nats()
    uri = server.address.replace("/t", "/kept.killed")
    through_a_kill(session, uri, server.program.kill, server.program.start)
    assert sorted(json.loads(value)["n"] for value, _ in server.kept("kept.killed")) == list(range(30))


@slow
def test_mqtt_takes_every_row_though_the_broker_is_killed(session: Session) -> None:
    server = mqtt()
    before = Listener(server, "killed")
    q = begun(session, server.address.replace("/t", "/killed"), commit_every="1 hour")
    give(session, range(10))
    until(lambda: q.to_polars().height == 10)
    assert q.writers[0].settle(200)
    assert sorted(json.loads(value)["n"] for value, name in before.all() if name) == list(range(10))
    server.program.kill()
    give(session, range(10, 20))
    until(lambda: q.to_polars().height == 20)
    q.writers[0].settle(0)
    until(lambda: q.sinks[0].trouble)
    server.program.start()  # who listens is gone, too: what the broker takes now it keeps for nobody
    until(lambda: q.written == 20, lambda: q.sinks)
    session.namespace["give"](None)
    assert q.wait(200)
    before.close()


def test_a_webhook_is_told_every_row_with_the_same_keys_though_it_is_away(session: Session) -> None:
    port = free_port()
    hooks = [Webhook(port)]
    q = through_a_kill(
        session, f"http://127.0.0.1:{port}/in", hooks[0].close, lambda: hooks.append(Webhook(port)), each="row"
    )
    rows = {row[1][IDEMPOTENCY]: json.loads(row[2]) for hook in hooks for row in hook.calls}
    assert sorted(row["n"] for row in rows.values()) == list(range(30))
    assert all(row["row_id"] == key for key, row in rows.items()) and q.sinks[0].promise == "at least once"
    hooks[1].close()


def test_a_commit_whose_answer_was_lost_is_not_done_twice() -> None:
    target = Target(f"{postgres().address}", Schema.from_frame(ROWS), "append", (), False, {"table": "lost"}, {}, "w")
    sink = open_sink(None, f"{target.uri}?table=lost", {}, {}, target.schema, relation=False).sink
    sink.append(ROWS)
    connection = sink._connection
    sink._connection = _Lost(connection, sink._psycopg.OperationalError)
    with pytest.raises(SinkUnreachable, match="the connection is lost"):
        sink.commit(1, "at 100")
    sink.abort()
    assert sink.append(ROWS) is None
    sink.commit(1, "at 100")
    sink.append(ROWS.head(1))
    sink.commit(2, "at 101")
    assert of_postgres("lost", ROWS).height == 101 and sink.committed() == (2, "at 101")
    sink.close()


class _Lost:
    """A connection that is lost while it commits."""

    def __init__(self, of: Any, error: type[Exception]) -> None:
        self._of, self._error = of, error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)

    def commit(self) -> None:
        self._of.commit()
        raise self._error("the connection is lost")


@slow
def test_rows_a_table_of_postgresql_never_takes_are_errors(session: Session) -> None:
    import psycopg

    with psycopg.connect(postgres().address) as connection:
        connection.execute('CREATE TABLE few ("N" SMALLINT CHECK ("N" % 10 <> 7), k TEXT, at TIMESTAMPTZ)')
    q = begun(session, f"{postgres().address}?table=few", "SELECT n * 1000 + n AS n, k FROM s")
    assert q.wait(200) and q.written + q.errors.height == 100
    expected = [n for n in range(100) if n * 1001 < 2**15 and n * 1001 % 10 != 7]
    assert q.written == len(expected)
    with psycopg.connect(postgres().address) as connection:
        assert [n for (n,) in connection.execute('SELECT "N" FROM few ORDER BY 1').fetchall()] == [
            n * 1001 for n in expected
        ]


def test_columns_of_a_table_that_the_answer_does_not_have_stay(session: Session) -> None:
    import psycopg

    with psycopg.connect(postgres().address) as connection:
        connection.execute("CREATE TABLE noted (k TEXT PRIMARY KEY, c BIGINT, note TEXT)")
        connection.execute("INSERT INTO noted VALUES ('k1', -1, 'ours'), ('x', -2, 'kept')")
    q = begun(session, f"{postgres().address}?table=noted", "SELECT k, count(*) AS c FROM s GROUP BY k", key="k")
    assert q.wait(200)
    with psycopg.connect(postgres().address) as connection:
        found = connection.execute("SELECT * FROM noted ORDER BY k").fetchall()
    assert found == [("k0", 34, None), ("k1", 33, "ours"), ("k2", 33, None), ("x", -2, "kept")]


def test_a_webhook_refuses_rows_for_ever_or_for_now(session: Session) -> None:
    hook = webhook()
    hook.refuses, hook.answers = '"n":7,', [503, 429, 401]
    try:
        q = begun(session, f"http://127.0.0.1:{hook.port}/some", "SELECT n FROM s", commit_every="10 s", rows="40")
        assert q.wait(200) and q.written == 99 and q.errors.height == 1
    finally:
        hook.refuses = None
    assert json.loads(q.errors["raw"][0])["n"] == 7 and "422" in q.errors["reason"][0]
    assert sorted(row["n"] for row in hook.rows("/some")) == [n for n in range(100) if n != 7]


def test_core_nats_and_large_messages(session: Session) -> None:
    q = begun(
        session,
        nats().address,
        "SELECT CASE WHEN n = 3 THEN repeat('x', 900000) END AS t, CASE WHEN n = 3 THEN repeat('x', 900000) END AS u FROM s",
    )
    assert q.wait(200) and q.written == 99 and "1,048,576 bytes at most" in q.errors["reason"][0]


def test_nats_is_asked_from_a_cell_whose_loop_runs(session: Session) -> None:
    async def cell() -> Any:
        return begun(session, nats().address.replace("/t", "/kept.cell"), "SELECT n FROM s")

    assert asyncio.run(cell()).wait(200) and len(nats().kept("kept.cell")) == 100


def test_a_hash_for_each_row_of_a_state(session: Session) -> None:
    uri = redis().address.replace("ticks", "counts")
    q = begun(session, uri, "SELECT k, n FROM s ORDER BY n DESC LIMIT 2", key="n")
    assert q.wait(200)
    assert {key: redis().client.hgetall(key) for key in redis().client.keys("counts:*")} == {
        b"counts:98": {b"k": b"k2", b"n": b"98"},
        b"counts:99": {b"k": b"k0", b"n": b"99"},
    }


AWAY = ["postgresql://me:{}@{}/d?table=t", "redis://me:{}@{}/t", "mqtt://me:{}@{}/t", "nats://me:{}@{}/t",
        "http://127.0.0.1:{1}/t?token={0}"]  # fmt: skip


@pytest.mark.parametrize("uri", AWAY, ids=[uri.partition(":")[0] for uri in AWAY])
def test_a_sink_that_is_away_is_told_without_its_password(session: Session, uri: str, caplog: Any) -> None:
    secrets._known.clear()
    port = free_port()
    where = uri.format(WORD, port if "{1}" in uri else f"127.0.0.1:{port}")
    session.execute(f"CREATE SINK away TO '{where}'")
    (q,) = session.execute("INSERT INTO away SELECT n FROM s")
    until(lambda: q.sinks[0].trouble)
    shown = [q.snapshot().hint, repr(q), q.sinks, q.status, q.explain()]
    shown += [session.execute(text)[-1] for text in ("SHOW SINKS", "DESCRIBE SINK away")]
    q.stop()
    assert logs.flush()
    assert str(port) in str(shown[0]) and "The query waits." in str(shown[0])
    assert WORD not in "".join(map(str, shown)) + caplog.text
    secrets._known.clear()


@pytest.mark.parametrize(
    ("uri", "options", "told"),
    [
        ("postgresql://h/d", {}, "which table"),
        ("postgresql:///d?table=t", {}, "names no host"),
        ("postgresql://h:x/d?table=t", {}, "no port that can be"),
        ("postgresql://h/d?table=t", {"config": "odd"}, "Did you mean 'password'"),
        ("postgresql://:${NO_SUCH_VARIABLE}@h/d?table=t", {}, "no variable NO_SUCH_VARIABLE"),
        ("redis://h", {}, "names no stream"),
        ("redis://h/k", {"maxlen": "few"}, "whole number"),
        ("mqtt://h/a/+", {}, "no one topic"),
        ("nats://h/a.*", {}, "no one subject"),
        ("http://h/x", {"config": "token"}, "Write https://"),
        ("https://h/x", {"config": "broken"}, "line break"),
        ("https://h/x", {"mode": "upsert", "key": "n"}, "can't put rows in the place"),
    ],
)
def test_what_cannot_be_is_refused_before_the_start(session: Session, uri: str, options: Any, told: str) -> None:
    session.namespace |= {"odd": {"pasword": "x"}, "token": {"token": WORD}, "broken": {"headers": {"a\r\nb": "c"}}}
    with pytest.raises(SinkError) as error:
        begun(session, uri, "SELECT n FROM s", **options)
    assert told in str(error.value) and not session.queries


def test_a_server_that_does_not_let_us_in_refuses_before_the_start(session: Session) -> None:
    redis().client.config_set("requirepass", WORD)
    try:
        with pytest.raises(SinkError, match="refuses"):
            begun(session, redis().address, "SELECT n FROM s")
        session.namespace["mine"] = {"password": WORD}
        q = begun(session, redis().address.replace("ticks", "let_in"), "SELECT n FROM s", config="mine")
        assert q.wait(200) and q.written == 100
    finally:
        redis().client.config_set("requirepass", "")
    with pytest.raises(SinkError, match="does not exist"):
        begun(session, postgres().address.replace("/postgres", "/nothing?table=t"), "SELECT n FROM s")
