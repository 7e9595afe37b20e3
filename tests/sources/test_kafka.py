from __future__ import annotations

import datetime as dt
import logging
import re
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from itertools import count
from pathlib import Path

import polars as pl
import pytest

from jupyter_stream.core import logs
from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.session.session import Session
from jupyter_stream.sources import Chunk, Request, Source, open_source
from jupyter_stream.sources.complaints import Complaints
from jupyter_stream.sources.protocol import Journaled
from tests.tiers import slow
from tests.topics import Kafka
from tests.waiting import PATIENCE, until

NUMBERS = Schema.of([("n", pl.Int64()), ("s", pl.String())])
NAMES = (f"t{i}" for i in count())


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    with closing(Kafka()) as made:
        yield made


@pytest.fixture
def topic(kafka: Kafka) -> str:
    return next(NAMES)


def opened(kafka: Kafka, topic: str, schema: Schema | None = NUMBERS, names: object = None, **options: str) -> Source:
    return open_source(f"kafka://{kafka.address}/{topic}", schema, options, names or {})


class Live:
    """A read of a live topic, in a thread."""

    def __init__(self, source: Source, *columns: str, journal: Path | None = None) -> None:
        self.request = Request(columns or None)
        self.rows: list[tuple[object, ...]] = []
        self.rejected: list[tuple[str, str]] = []
        chunks = source.read(self.request) if journal is None else source.read_again(self.request, journal)
        self.thread = threading.Thread(target=self._run, args=(chunks,), daemon=True)
        self.thread.start()

    def _run(self, chunks: Iterator[Chunk]) -> None:
        for chunk in chunks:
            self.rejected += chunk.rejected.rows() if chunk.rejected is not None else []
            self.rows += chunk.frame.rows()  # last, for they are waited for

    def until(self, rows: int) -> list[tuple[object, ...]]:
        until(lambda: len(self.rows) >= rows)
        return self.rows

    def stop(self) -> None:
        self.request.stop.set()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


def test_a_live_topic_gives_what_was_there_and_what_comes(kafka, topic):
    kafka.send(topic, '{"n": 1, "s": "a"}', '{"n": 2}')
    live = Live(opened(kafka, topic, start="earliest"))
    assert live.until(2) == [(1, "a"), (2, None)]
    kafka.send(topic, '{\n  "n": 3,\n  "s": "c"\n}')
    assert live.until(3)[2] == (3, "c")
    live.stop()
    assert len(live.rows) == 3


@slow
def test_what_is_there_already_comes_by_time_whatever_its_partition(kafka, topic):
    for i in range(100):
        kafka.send(topic, f'{{"n": {i}}}', partition=i * i % 4, at=1000 + i)
    live = Live(opened(kafka, topic, start="earliest"), "n")
    assert live.until(100) == [(i,) for i in range(100)]
    for partition in range(4):
        kafka.send(topic, f'{{"n": {100 + partition}}}', partition=partition)
        assert live.until(101 + partition)[100 + partition] == (100 + partition,)
    live.stop()


def test_by_default_only_what_comes_is_read(kafka, topic):
    kafka.send(topic, '{"n": 1}')
    source = opened(kafka, topic)
    assert not source.replayable
    live = Live(source, "n")

    def sent_until_it_comes() -> bool:
        """Where a read begins is told by the broker, a moment after the start."""
        kafka.send(topic, '{"n": 2}')
        return bool(live.rows)

    until(sent_until_it_comes, step=0.05)
    live.stop()
    assert live.rows[0][0] == 2


def test_offsets_say_where_a_read_begins(kafka, topic, read):
    for partition in (0, 1):
        kafka.send(topic, *(f'{{"n": {10 * partition + i}}}' for i in range(1, 6)), partition=partition, at=1000)

    def values(start: str) -> list[object]:
        return [row[0] for row in read(opened(kafka, topic, start=start, end="latest"), "n").rows]

    assert values("3") == [4, 5, 14, 15]
    assert values("0:4, 1:3") == [5, 14, 15]
    assert values("0:5") == [11, 12, 13, 14, 15]
    assert values("earliest") == [1, 2, 3, 4, 5, 11, 12, 13, 14, 15]
    assert values("latest") == []


def test_a_replay_ends_and_gives_one_order_each_time(kafka, topic, read):
    for at in range(50):
        kafka.send(topic, *(f'{{"n": {at * 10 + i}}}' for i in range(at % 3 + 1)), partition=at % 3, at=1000 + at)
    source = opened(kafka, topic, end="latest")
    assert source.replayable
    kafka.send(topic, '{"n": -1}', at=5000)
    first = read(source, "n").rows
    assert first == [(at * 10 + i,) for at in range(50) for i in range(at % 3 + 1)]
    assert read(source, "n").rows == first
    assert (-1,) in read(opened(kafka, topic, end="latest"), "n").rows


def test_a_partition_far_ahead_waits_for_the_others(kafka, topic, read, monkeypatch):
    monkeypatch.setattr("jupyter_stream.sources.kafka._HELD", 10)
    kafka.send(topic, *(f'{{"n": {i}}}' for i in range(1000)), partition=1, at=2000)
    for i in range(300):
        kafka.send(topic, f'{{"n": {-300 + i}}}', partition=0, at=1000 + i)
    kafka.send(topic, '{"n": 5000}', partition=0, at=9000)
    assert [row[0] for row in read(opened(kafka, topic, end="latest"), "n").rows] == [*range(-300, 1000), 5000]


def test_what_the_broker_says_can_be_columns(kafka, topic, read):
    schema = Schema.of([("id", pl.Int64()), ("n", pl.Int64()), ("at", TIMESTAMP), ("p", pl.Int32()), ("o", pl.Int64())])
    kafka.send(topic, '{"n": 1}', '{"n": 2}', key="7", partition=2, at=1_700_000_000_123)
    kafka.send(topic, '{"n": 3}', key="x", partition=2)
    kafka.send(topic, "nothing", partition=2)
    kafka.send(topic, '{"n": 4}', partition=2)
    columns = {"key": "id", "timestamp": "at", "partition": "p", "offset": "o", "end": "latest"}
    found = read(opened(kafka, topic, schema, **columns))
    when = dt.datetime(2023, 11, 14, 22, 13, 20, 123000)
    assert found.rows[:2] == [(7, 1, when, 2, 0), (7, 2, when, 2, 1)]
    assert [(r[0], r[1], r[4]) for r in found.rows[2:]] == [(None, 4, 4)]
    assert sorted(reason.partition(": ")[0] for _, reason in found.rejected) == ["column id", "not JSON"]
    assert all(f"({topic}, partition 2, offset " in reason for _, reason in found.rejected)
    assert read(opened(kafka, topic, Schema.of([("o", pl.Int64())]), offset="o", end="latest")).rows == [
        (0,), (1,), (2,), (3,), (4,)
    ]  # fmt: skip


def test_messages_that_are_no_record_are_told_with_their_offset(kafka, topic, read):
    kafka.send(topic, '{"n": 1}', "[1, 2]", '{"n": "x"}', None, b"\xff", '{"n": 2}', " ")
    found = read(opened(kafka, topic, end="latest"))
    assert found.rows == [(1, None), (2, None)]
    assert [reason.rpartition("offset ")[2] for _, reason in sorted(found.rejected, key=lambda r: r[1][-3:])] == [
        "1)", "2)", "3)", "4)", "6)"
    ]  # fmt: skip
    assert ('{"n": "x"}', f"column n: 'x' can't be read as BIGINT ({topic}, partition 0, offset 2)") in found.rejected


def test_messages_may_be_csv(kafka, topic, read):
    kafka.send(topic, "1,a", '2,"b', '3,"c, and"', '4,"d', "5,e\n6,f", "7", "8,NA\r\n")
    found = read(opened(kafka, topic, format="csv", null="NA", end="latest"))
    assert found.rows == [(1, "a"), (3, "c, and"), (5, "e"), (6, "f"), (8, None)]
    assert sorted(reason.rpartition("offset ")[2] for _, reason in found.rejected) == ["1)", "3)", "5)"]
    with_offset = Schema.of([*((f.name, f.dtype) for f in NUMBERS), ("o", pl.Int64())])
    numbered = read(opened(kafka, topic, with_offset, format="csv", offset="o", end="latest"))
    assert [(row[0], row[2]) for row in numbered.rows] == [(1, 0), (3, 2), (5, 4), (6, 4), (8, 6)]
    tabs = next(NAMES)
    kafka.send(tabs, "1\ta")
    assert read(opened(kafka, tabs, format="tsv", end="latest")).rows == [(1, "a")]


def test_times_of_rows_promise_in_a_query_what_was_declared(kafka, topic):
    kafka.send(topic, *(f'{{"n": {i}, "ts": "2024-01-01 00:00:{i:02}"}}' for i in range(25)), at=1000)
    kafka.send(topic, '{"n": 100, "ts": "2024-01-01 00:00:01"}', '{"n": 7, "upto": "2024-01-01 00:00:40"}', at=2000)
    with Session({}) as session:
        session.run(
            f"CREATE STREAM t (n BIGINT, ts TIMESTAMP) ORDER BY ts SOURCE 'kafka://{kafka.address}/{topic}?end=latest'"
        )
        query = session.run("SELECT count(*) AS n FROM t [RANGE 10 SECONDS TUMBLING]")[-1]
        assert query.wait(200)
        assert query.to_polars()["n"].to_list() == [10, 10, 5]
        assert query.late.height == 1
        session.run(
            "CREATE STREAM p (n BIGINT, ts TIMESTAMP, upto TIMESTAMP) ORDER BY ts "
            f"SOURCE 'kafka://{kafka.address}/{topic}' WITH (start = 'earliest', punctuation = 'upto')"
        )
        query = session.run("SELECT count(*) AS n FROM p [RANGE 10 SECONDS TUMBLING]")[-1]
        until(lambda: query.to_polars().height >= 3)
        assert query.status == "running"
        assert query.to_polars()["n"].to_list() == [11, 10, 5]
        query.stop()


@slow
def test_a_topic_is_read_again_in_the_order_it_had_and_then_on(kafka, topic, tmp_path):
    """However the broker hands messages over the second time, and however many have come in between."""
    journal = tmp_path / "read"
    kafka.send(topic, "none", partition=3)
    source = opened(kafka, topic, start="earliest")
    assert isinstance(source, Journaled)

    def again(rows: int) -> list[tuple[object, ...]]:
        live = Live(source, "n", journal=journal)
        live.until(rows)
        live.stop()
        return live.rows

    before: list[tuple[object, ...]] = []
    for round_ in range(3):
        new = [100 * round_ + i for i in range(20)]
        for i in new:
            kafka.send(topic, f'{{"n": {i}}}', partition=i * 7 % 4)
        found = again(len(before) + 20)
        assert found[: len(before)] == before
        assert sorted(found[len(before) :]) == [(i,) for i in new]
        before = found
        kafka.send(topic, "none", partition=round_)
    with journal.open("a") as file:
        file.write("0 5 7")  # a note that was being written when the reader was killed
    assert again(60) == before


def test_what_was_read_before_and_is_gone_ends_the_read(kafka, topic, tmp_path):
    kafka.send(topic, *(f'{{"n": {i}}}' for i in range(5)))
    source = opened(kafka, topic, start="earliest")
    (tmp_path / "read").write_text("0 0 4 4\n1 0 3 3\n")
    (tmp_path / "odd").write_text("precious\n")
    for name, says in (("odd", "doesn't say what was read of a topic"), ("read", "0 of 3 are left from offset 0 to 3")):
        with pytest.raises(SourceError, match=says):
            list(source.read_again(Request(), tmp_path / name))


def test_offsets_that_are_gone_end_the_read_with_what_to_write(kafka, topic):
    kafka.send(topic, '{"n": 1}')
    source = opened(kafka, topic, start="0:77")
    with pytest.raises(SourceError, match="Offset 77 of partition 0") as error:
        list(source.read(Request()))
    assert "start = 'earliest'" in str(error.value)


@pytest.mark.parametrize(
    ("uri", "options", "says"),
    [
        ("{}", {}, "names no topic"),
        ("{}/none", {"end": "latest"}, "There is no topic 'none'"),
        ("me:sesame7@{}/some", {}, "can't stand in the address"),
        ("{}/some?begin=1", {}, "has no option 'begin'"),
        ("{}/some", {"start": "tomorrow"}, "'0:1000, 2:500'"),
        ("{}/some", {"start": "0:x"}, "is not a place in a topic"),
        ("{}/some", {"end": "soon"}, "'never', 'latest'"),
        ("{}/some", {"format": "parquet"}, "'json', 'csv', 'tsv'"),
        ("{}/some", {"key": "nn"}, "Did you mean 'n'?"),
        ("{}/some", {"timestamp": "n"}, "can't be read as BIGINT"),
        ("{}/some", {"config": "settings"}, "The variable 'settings' does not exist"),
        ("{}/some", {"config": "odd"}, "can't be set up with these settings"),
        ("{}/some", {"rate": "10/s"}, "at its own pace"),
    ],
)
def test_what_can_not_be_is_told_when_the_source_is_made(kafka, uri, options, says):
    kafka.send("some", '{"n": 1}')
    with pytest.raises(SourceError) as error:
        open_source("kafka://" + uri.format(kafka.address), NUMBERS, options, {"odd": {"no.such.setting": 1}})
    assert says in str(error.value)


def test_without_messages_columns_must_be_declared(kafka, topic):
    with pytest.raises(SourceError, match=r"columns of kafka://.* are not known") as error:
        opened(kafka, topic, None)
    assert "CREATE STREAM name (" in str(error.value)


@slow
def test_a_broker_that_does_not_answer_is_told(monkeypatch, caplog, capfd):
    monkeypatch.setattr("jupyter_stream.sources.kafka._ANSWER", 1.5)  # in which the library tries about thirty times
    with pytest.raises(SourceError, match="No Kafka broker answers at localhost:1"):
        open_source("kafka://localhost:1/t", NUMBERS, {"end": "latest"}, {})
    assert logs.flush()
    # clients of other tests whose broker is gone may have something to say, too
    told = [*(record.getMessage() for record in caplog.records), *capfd.readouterr().err.splitlines()]
    assert not [line for line in told if re.search(r"localhost:1\b", line)]


@slow
def test_a_query_waits_for_a_topic_that_is_not_there_yet_and_its_view_says_so(kafka, topic):
    kafka.send(f"{topic}_other", '{"n": 0}')
    with Session() as session:
        session.execute(f"CREATE STREAM s (n BIGINT) SOURCE 'kafka://{kafka.address}/{topic}'")
        query = session.run("SELECT n FROM s")[-1]
        until(lambda: f"There is no topic '{topic}'" in (query.snapshot(0).hint or ""), lambda: query.snapshot(0).hint)
        assert "begins when it is there" in query.snapshot(0).hint and query.status == "waiting"
        kafka.send(topic, '{"n": 1}')
        until(lambda: query.to_polars().rows() == [(1,)])
        until(lambda: query.snapshot(0).hint is None)


@slow
def test_a_query_waits_for_a_broker_that_is_away(kafka, topic):
    kafka.send(topic, '{"n": 1}')
    with socket.socket() as door, Session() as session, ExitStack() as ends:
        door.bind(("127.0.0.1", 0))
        port = door.getsockname()[1]
        session.execute(
            f"CREATE STREAM s (n BIGINT) SOURCE 'kafka://127.0.0.1:{port}/{topic}' WITH (start = 'earliest')"
        )
        query = session.run("SELECT n FROM s")[-1]
        until(lambda: "No Kafka broker answers at 127.0.0.1" in (query.snapshot(0).hint or ""))
        door.listen()
        ends.callback(door.shutdown, socket.SHUT_RDWR)  # or its thread would wait there for ever
        threading.Thread(target=hand_on, args=(door, kafka.address), daemon=True).start()
        until(lambda: query.to_polars().rows() == [(1,)])
        until(lambda: query.snapshot(0).hint is None)


def hand_on(door: socket.socket, address: str) -> None:
    """Whoever comes by the door speaks with the broker."""

    def pass_on(a: socket.socket, b: socket.socket) -> None:
        with suppress(OSError):
            while data := a.recv(65536):
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)

    host, _, port = address.partition(":")
    with suppress(OSError):
        while True:
            inside, _ = door.accept()
            outside = socket.create_connection((host, int(port)))
            for pair in ((inside, outside), (outside, inside)):
                threading.Thread(target=pass_on, args=pair, daemon=True).start()


def test_what_is_said_of_a_broker_many_times_is_told_once_and_again_after_things_went_well(caplog):
    complaints = Complaints(logs.of("here"), "kafka://b/t")
    for _ in range(3):
        complaints.heard(1, "is down")
        complaints.heard(2, "all are down")
    complaints.over()
    complaints.heard(1, "is down")
    assert logs.flush()
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == [
        "kafka://b/t is down",
        "kafka://b/t all are down",
        "kafka://b/t is down",
    ]


def test_settings_of_the_client_come_from_a_variable(kafka, topic, read):
    kafka.send(topic, '{"n": 1}')
    names = {"settings": {"client.id": "mine", "fetch.wait.max.ms": 10}}
    assert read(opened(kafka, topic, names=names, config="settings", end="latest"), "n").rows == [(1,)]


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(SourceError, match="confluent-kafka") as error:
        open_source("kafka://localhost:9092/t", NUMBERS, {}, {})
    assert "jupyter-stream[kafka]" in str(error.value)


def test_columns_are_those_of_the_newest_messages_and_of_what_the_broker_tells(kafka: Kafka, topic: str) -> None:
    kafka.spread(topic, ((i % 2, f'{{"n": {i}, "s": "x", "day": "2026-01-0{i + 1}"}}') for i in range(4)))
    source = opened(kafka, topic, None, key="k", partition="p", end="latest")
    assert [(f.name, f.dtype) for f in source.schema] == [
        ("n", pl.Int64()), ("s", pl.String()), ("day", pl.Date()), ("k", pl.String()), ("p", pl.Int64()),
    ]  # fmt: skip
    rows = [row for chunk in source.read(Request()) for row in chunk.frame.rows()]
    assert sorted(row[0] for row in rows) == [0, 1, 2, 3]
    assert opened(kafka, topic, None, format="text").schema.names == ("value",)
