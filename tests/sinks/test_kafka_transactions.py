"""Commits to Kafka that a checkpoint goes with: no row is there twice, whenever the query is killed and started again."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from jupyter_stream import Session, SinkError
from jupyter_stream.core.schema import Schema
from jupyter_stream.sinks import open_sink
from jupyter_stream.sinks.kafka import KafkaSink
from jupyter_stream.sinks.protocol import SinkUnreachable, Target
from tests.sinks.reading import messages
from tests.sinks.transacting import Broker, KafkaError
from tests.topics import Kafka

ROWS = pl.DataFrame({"n": [1, 2, 3]})
MORE = pl.DataFrame({"n": [4, 5]})


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    made = Broker()
    monkeypatch.setitem(sys.modules, "confluent_kafka", made.library())
    return made


def sink(address: str = "there", writer: str = "w", *, resumes: bool = True, **options: str) -> KafkaSink:
    schema = Schema.from_frame(ROWS)
    return KafkaSink(Target(f"kafka://{address}/answers", schema, "append", (), False, options, {}, writer, resumes))


def numbers(broker: Broker) -> list[int]:
    return [json.loads(value)["n"] for value in broker.readers]


def test_messages_are_seen_with_their_commit_and_its_number(broker: Broker) -> None:
    first = sink()
    assert first.committed() is None
    first.append(ROWS)
    assert numbers(broker) == [] and sink(writer="other").committed() is None
    first.commit(1, "at 3")
    assert numbers(broker) == [1, 2, 3] and first.committed() == (1, "at 3")
    assert sink().committed() == (1, "at 3") and sink(writer="other").committed() is None


def test_a_commit_whose_checkpoint_was_not_written_is_not_done_again(broker: Broker) -> None:
    first = sink()
    first.append(ROWS)
    first.commit(1, "at 3")  # and killed
    again = sink()
    assert again.committed() == (1, "at 3")
    again.commit(1, "at 3")
    again.append(ROWS)
    again.commit(1, "at 3")
    again.append(MORE)
    again.commit(2, "at 5")
    assert numbers(broker) == [1, 2, 3, 4, 5]


def test_messages_that_were_sent_when_it_was_killed_are_never_seen(broker: Broker) -> None:
    first = sink()
    first.append(ROWS)  # and killed
    again = sink()
    assert again.committed() is None and len(broker.given_up) == 3
    again.append(ROWS)
    again.commit(1, "")
    assert numbers(broker) == [1, 2, 3] and again.committed() == (1, "")


@pytest.mark.parametrize("call", ["send_offsets_to_transaction", "commit_transaction"])
@pytest.mark.parametrize("done", [False, True])
def test_a_commit_of_which_nobody_knows_what_came_is_there_once(broker: Broker, call: str, done: bool) -> None:
    first = sink()
    (broker.deaf if done else broker.fails)[call] = [KafkaError("_TRANSPORT")]
    first.append(ROWS)
    with pytest.raises(SinkUnreachable, match="_TRANSPORT"):
        first.commit(1, "at 3")
    first.abort()
    first.append(ROWS)
    first.commit(1, "at 3")
    assert numbers(broker) == [1, 2, 3] and first.committed() == (1, "at 3")


def test_a_call_that_can_be_taken_up_again_is(broker: Broker) -> None:
    for call in ("init_transactions", "committed", "begin_transaction", "commit_transaction"):
        broker.fails[call] = [KafkaError("_TIMED_OUT", retriable=True)] * 2
    first = sink()
    first.append(ROWS)
    first.commit(1, "")
    assert numbers(broker) == [1, 2, 3] and not any(broker.fails.values())


def test_a_writer_whose_place_another_has_taken_ends(broker: Broker) -> None:
    first, second = sink(), sink()
    first.append(ROWS)
    assert second.committed() is None
    for late in (lambda: first.commit(1, ""), lambda: first.append(MORE)):
        with pytest.raises(SinkError, match="another one writes with its checkpoint"):
            late()
    second.append(ROWS)
    second.commit(1, "")
    assert numbers(broker) == [1, 2, 3]


def test_a_row_that_the_broker_refuses_keeps_no_other_from_its_commit(broker: Broker) -> None:
    broker.too_large = frozenset([b'{"n":2}'])
    first = sink()
    told = first.append(ROWS)
    assert told is not None and told.rows() == [('{"n":2}', "it says MSG_SIZE_TOO_LARGE")]
    first.commit(1, "")
    assert numbers(broker) == [1, 3] and len(broker.given_up) == 2
    assert first.append(ROWS[1:2]) is not None
    first.commit(2, "")  # of no rows: nothing is to be noted
    assert numbers(broker) == [1, 3] and first.committed() == (1, "")


@pytest.mark.parametrize(
    ("call", "name", "told"),
    [
        ("init_transactions", "_UNSUPPORTED_FEATURE", "transactions = 'off'"),
        ("init_transactions", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "transactional id 'jupyter-stream-w'"),
        ("committed", "GROUP_AUTHORIZATION_FAILED", "the group of that name"),
        ("init_transactions", "INVALID_TRANSACTION_TIMEOUT", "transaction.max.timeout.ms"),
    ],
)
def test_a_broker_that_refuses_transactions_is_told_before_the_start(
    broker: Broker, call: str, name: str, told: str
) -> None:
    broker.fails[call] = [KafkaError(name)] * 2
    with pytest.raises(SinkError) as error:
        sink().check()
    assert told in str(error.value)
    off = sink(transactions="off")
    off.check()
    off.append(ROWS)
    assert numbers(broker) == [1, 2, 3] and off.committed() is None


def test_a_check_leaves_a_query_alone_that_runs(broker: Broker) -> None:
    first = sink()
    first.append(ROWS)
    sink().check()
    first.commit(1, "")
    assert numbers(broker) == [1, 2, 3]


def test_the_promise_goes_by_the_checkpoint_and_the_option(broker: Broker) -> None:
    schema = Schema.from_frame(ROWS)
    for writer, options, promise in (
        ("w", {}, "exactly once"),
        (None, {}, "at least once"),
        ("w", {"transactions": "off"}, "at least once"),
    ):
        order = open_sink(None, "kafka://there/t", options, {}, schema, relation=False, writer=writer)
        assert order.promise == promise
    with pytest.raises(SinkError, match="transactions"):
        open_sink(None, "kafka://there/t", {"transactions": "maybe"}, {}, schema, relation=False)
    with Session({}) as session:
        session.execute("CREATE SINK a TO 'kafka://there/t'; CREATE SINK b TO 'kafka://there/t?transactions=off'")
        shown = session.run("SHOW SINKS")[-1].to_polars()
        assert shown["promise"].to_list() == ["exactly once with a checkpoint, else at least once", "at least once"]


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    with closing(Kafka()) as made:
        yield made


def test_a_query_with_a_checkpoint_writes_what_a_source_reads(kafka: Kafka, tmp_path: Path) -> None:
    """Over the wire. This broker keeps no offsets of transactions, but their ends, which take offsets without messages."""
    uri = f"kafka://{kafka.address}/wire"
    with Session({"rows": pl.DataFrame({"ts": range(6), "n": range(6)})}) as session:
        session.execute("CREATE STREAM s (ts BIGINT, n BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        (q,) = session.execute(f"INSERT INTO '{uri}' WITH (checkpoint = '{tmp_path}/c') SELECT n FROM s WHERE n < 5")
        assert q.wait(200) and q.written == 5 and q.sinks[0].promise == "exactly once"
        session.execute(f"CREATE STREAM back (n BIGINT) SOURCE '{uri}' WITH (end = 'latest')")
        (back,) = session.execute("SELECT n FROM back")
        assert back.wait(200) and sorted(back.to_polars()["n"]) == list(range(5))


def test_the_ends_of_transactions_are_no_messages(kafka: Kafka) -> None:
    first = sink(kafka.address)
    for number in (1, 2):
        first.append(ROWS)
        first.commit(number, "")
    first.close()
    assert sorted(json.loads(value or "")["n"] for _, value in messages(kafka, "answers")) == [1, 1, 2, 2, 3, 3]
