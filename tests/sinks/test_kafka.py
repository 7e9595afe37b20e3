"""What is Kafka's own: keys, row_id as a header, rows it refuses, a broker that comes later."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing

import confluent_kafka
import polars as pl
import pytest

from jupyter_stream import Session, SinkError
from tests.sinks.reading import messages
from tests.tiers import slow
from tests.topics import Kafka
from tests.waiting import until

ROWS = pl.DataFrame({"ts": range(6), "k": ["a", "b", None] * 2, "n": range(6)})


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    with closing(Kafka()) as made:
        yield made


@pytest.fixture
def session():
    with Session({"rows": ROWS}) as session:
        session.execute("CREATE STREAM s (ts BIGINT, k STRING, n BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        yield session


def test_messages_have_keys_json_values_and_a_row_id(session: Session, kafka: Kafka) -> None:
    uri = f"kafka://{kafka.address}/alerts"
    (q,) = session.execute(f"INSERT INTO '{uri}' WITH (key = 'k') SELECT k, n FROM s")
    assert q.wait(200) and q.written == 6 and q.sinks[0].promise == "at least once"
    found = messages(kafka, "alerts")
    assert sorted((key or "", json.loads(value)["n"]) for key, value in found) == [
        ("", 2), ("", 5), ("a", 0), ("a", 3), ("b", 1), ("b", 4)
    ]  # fmt: skip
    consumer = confluent_kafka.Consumer({"bootstrap.servers": kafka.address, "group.id": "tests"})
    consumer.assign([confluent_kafka.TopicPartition("alerts", p, 0) for p in range(4)])
    headers: list[str] = []

    def six() -> bool:
        came = [m for m in consumer.consume(10, 0.05) if m.error() is None]
        headers.extend(m.headers()[0][1].decode() for m in came)
        return len(headers) >= 6

    until(six)
    consumer.close()
    assert len(set(headers)) == 6
    session.execute(f"CREATE STREAM back (k STRING, n BIGINT) SOURCE '{uri}' WITH (end = 'latest')")
    (back,) = session.execute("SELECT n FROM back")
    assert back.wait(200) and sorted(back.to_polars()["n"]) == list(range(6))


@slow
def test_rows_that_no_broker_takes_are_errors(session: Session, kafka: Kafka) -> None:
    session.namespace["small"] = {"message.max.bytes": 1000}
    text = (
        f"INSERT INTO 'kafka://{kafka.address}/small' WITH (config = 'small') SELECT repeat('x', n * 400) AS t FROM s"
    )
    (q,) = session.execute(text)
    assert q.wait(200) and q.written == 3 and q.errors.height == 3 and "too large" in q.errors["reason"][0]


@slow
def test_a_row_without_a_key_takes_no_place(session: Session, kafka: Kafka) -> None:
    (q,) = session.execute(
        f"INSERT INTO 'kafka://{kafka.address}/counts' WITH (key = 'k') SELECT k, count(*) AS c FROM s GROUP BY k"
    )
    assert q.wait(200) and q.written == 2 and "key is NULL" in q.errors["reason"][0]


def test_what_cannot_be_is_refused_before_the_start(session: Session, kafka: Kafka) -> None:
    for text, told in (
        (f"INSERT INTO 'kafka://{kafka.address}' SELECT n FROM s", "names no topic"),
        (f"INSERT INTO 'kafka://{kafka.address}/t' WITH (config = 'nothing') SELECT n FROM s", "names no dictionary"),
        (
            f"INSERT INTO 'kafka://{kafka.address}/t' WITH (config = 'bad') SELECT n FROM s",
            "the settings of Kafka can't be",
        ),
    ):
        session.namespace["bad"] = {"no.such.setting": 1}
        with pytest.raises(SinkError, match=told):
            session.execute(text)
    assert not session.queries


@slow
def test_a_broker_that_is_away_holds_the_query(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jupyter_stream.sinks.kafka._PATIENCE", 0.5)
    (q,) = session.execute("INSERT INTO 'kafka://127.0.0.1:1/t' SELECT n FROM s")
    until(lambda: q.sinks[0].trouble)
    assert q.status == "running" and "can't be written to" in q.snapshot().hint
    q.stop()
