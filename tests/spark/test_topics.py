"""Topics of Kafka on Spark: through our connector, killed and started again; and what Spark's own connector is told."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.core.topic import Topic
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.plan.logical import streams
from jupyter_stream.session.session import Session
from jupyter_stream.spark import topics
from jupyter_stream.spark.topics import check_readable, has_connector, options_of, rows_of_messages, topic_of
from tests.oracle.compare import assert_same_bag, plain_rows
from tests.spark.killed import environment
from tests.tiers import slow
from tests.topics import Kafka

DECLARED = """CREATE STREAM s (n INT, ts TIMESTAMP, p INT, o BIGINT, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
    SOURCE 'kafka://{address}/rows' WITH (start = 'earliest', partition = 'p', offset = 'o')"""
QUERY = "SELECT p, count(*) AS c, sum(10 / n) AS n, max(o) AS o FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY p"
SCRIPT = """
import sys
from jupyter_stream import Session
declared, query, checkpoint = sys.argv[1:]
session = Session({})
session.run(declared)
conf = ["spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC", "spark.sql.shuffle.partitions=2"]
session.run(query, engine="spark", checkpoint=checkpoint, conf=conf)[-1].wait()
"""
START = 1_735_689_600


def messages(seconds: range) -> Iterator[tuple[int, str]]:
    """Twenty a second of event time over four partitions, some of them late, some no record."""
    for second in seconds:
        for i in range(20):
            late = 60 * (second % 17 == 5 and i < 3 and second > 60)
            at = f"2025-01-01T00:{(second - late) // 60:02}:{(second - late) % 60:02}"
            row = "none" if (second + i) % 97 == 0 else json.dumps({"n": (second * 3 + i) % 11, "ts": at})
            yield (second * 7 + i * i) % 4, row


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    with closing(Kafka()) as made:
        yield made


@slow
@pytest.mark.timeout(1800)  # a net for what never ends: nothing below goes by the clock
def test_killed_query_reads_its_topic_again_as_it_had_and_goes_on(
    kafka: Kafka, tmp_path: Path, sessions: Callable[..., Session]
) -> None:
    kafka.spread("rows", messages(range(200)))
    declared, checkpoint = DECLARED.format(address=kafka.address), tmp_path / "checkpoint"
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    arguments = [sys.executable, str(script), declared, QUERY, str(checkpoint)]
    child = subprocess.Popen(arguments, env=environment(tmp_path))
    try:
        sent = 200
        while not list(checkpoint.glob("answers/*.arrow")):
            assert child.poll() is None, "it doesn't get as far as answers"
            if sent < 800:  # while it reads; a busy machine takes long to start Spark
                kafka.spread("rows", messages(range(sent, sent + 1)))
                sent += 1
            time.sleep(0.5)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    kafka.spread("rows", messages(range(sent, sent + 100)))
    kafka.send("rows", '{"n": 1, "ts": "2025-01-02T00:00:00"}')
    session = sessions()
    session.run(declared)
    again: Any = session.run(QUERY, name="again", engine="spark", checkpoint=checkpoint)[-1]
    read = checkpoint / "read0"

    def notes() -> list[str]:
        text = read.read_text()
        return text[: text.rfind("\n") + 1].splitlines()

    while sum(int(line.split()[3]) for line in notes()) < 20 * (sent + 100) + 1:
        assert again.status in ("waiting", "running"), again.snapshot().error
        time.sleep(0.1)
    # the same messages in the order they were read, as rows of a frame in the kernel
    taken = [tuple(map(int, line.split())) for line in notes()]
    ends = {p: end for p, _, end, _ in sorted(taken)}
    whole = {p: kafka.read("rows", p, 0, end) for p, end in ends.items()}
    order = [row for p, start, end, _ in taken for row in records(p, whole[p][start:end])]
    session.namespace["frame"] = pl.DataFrame(order, schema=again_schema(), orient="row")
    session.run(DECLARED.replace("STREAM s", "STREAM f").split("SOURCE")[0] + "SOURCE 'frame://frame'")
    kernel: Any = session.run(QUERY.replace("FROM s", "FROM f"), name="kernel")[-1]
    assert kernel.wait()
    expected = kernel.to_polars().filter(pl.col("window_end") < pl.datetime(2025, 1, 1, 12))
    while again.to_polars().height < expected.height:
        assert again.status in ("waiting", "running"), again.snapshot().error
        time.sleep(0.1)
    assert_same_bag(plain_rows(again.to_polars()), plain_rows(expected), expected.columns)
    assert expected.height > 100 and kernel.late.height > 10
    assert_same_bag(plain_rows(again.late), plain_rows(kernel.late), kernel.late.columns)
    again.stop()


@slow
@pytest.mark.timeout(1800)
def test_replay_of_a_topic_goes_on_as_it_was_read_though_older_messages_have_come(
    kafka: Kafka, tmp_path: Path, sessions: Callable[..., Session]
) -> None:
    """A replay goes by the times of messages: one that came since, with an older time, would be counted for another."""
    declared = "CREATE STREAM e (n INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 1 HOUR) "
    declared += f"SOURCE 'kafka://{kafka.address}/ended?end=latest'"
    options: dict[str, Any] = {"name": "ended", "engine": "spark", "checkpoint": tmp_path / "checkpoint"}
    for n in range(300):
        kafka.send("ended", json.dumps({"n": n, "ts": f"2025-01-01T00:{n // 60:02}:{n % 60:02}"}), at=1_000_000 + n)
    first: Any = sessions().run(f"{declared} WITH (rate = '0.5 rows/s'); SELECT n FROM e", **options)[-1]
    while first.to_polars().height < 3:
        assert first.status in ("waiting", "running"), first.snapshot().error
        time.sleep(0.05)
    first.stop()
    assert first.to_polars().height < 300
    kafka.send("ended", '{"n": 300, "ts": "2025-01-01T00:00:00"}', partition=1, at=1)
    again: Any = sessions().run(f"{declared}; SELECT n FROM e", **options)[-1]
    assert again.wait()
    assert sorted(again.to_polars()["n"].to_list()) == list(range(301))


def again_schema() -> dict[str, pl.DataType]:
    return {"n": pl.Int32(), "ts": TIMESTAMP, "p": pl.Int32(), "o": pl.Int64()}


def records(partition: int, messages: list[tuple[int, bytes | None]]) -> Iterator[tuple[object, ...]]:
    """Messages, by their offsets, as rows."""
    for offset, value in messages:
        if value is not None and value != b"none":
            row = json.loads(value)
            yield row["n"], dt_of(row["ts"]), partition, offset


def dt_of(text: str) -> object:
    return pl.Series([text]).str.to_datetime(time_unit="us")[0]


RECORD = Schema.of(
    [
        ("k", pl.String()),
        ("n", pl.Int64()),
        ("x", pl.Float64()),
        ("ts", TIMESTAMP),
        ("d", pl.Date()),
        ("b", pl.Boolean()),
    ]
)


def topic(**changes: Any) -> Topic:
    given: dict[str, Any] = {
        "brokers": "a:9092,b:9092",
        "name": "rows",
        "start": "latest",
        "ends": False,
        "record": RECORD,
        "told": {},
        "options": {},
    }
    return Topic(**{**given, **changes})


@pytest.mark.parametrize(
    ("start", "written"),
    [
        ("earliest", "earliest"),
        ("latest", "latest"),
        ({1: 7, 0: None}, '{"rows": {"0": -2, "1": 7}}'),
    ],
)
def test_options_of_sparks_connector(start: Any, written: str) -> None:
    assert options_of(topic(start=start)) == {
        "kafka.bootstrap.servers": "a:9092,b:9092",
        "subscribe": "rows",
        "startingOffsets": written,
        "failOnDataLoss": "true",
    }


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"ends": True}, "a streaming DataFrame goes on"),
        ({"options": {"format": "csv"}}, "several records"),
        ({"options": {"config": "mine"}}, "the option config"),
        ({"options": {"timestamp_unit": "ms"}}, "the option timestamp_unit"),
        ({"record": Schema.of([("l", pl.List(pl.Int64()))])}, "l is of a type"),
    ],
)
def test_topics_that_spark_would_read_otherwise_are_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(UnsupportedError, match=says):
        check_readable(topic(**changes))
    check_readable(topic(options={"format": "json"}))


@slow
def test_messages_are_the_same_rows_for_spark_and_our_connector(
    kafka: Kafka, spark: Any, sessions: Callable[..., Session]
) -> None:
    rows = [
        {"k": "a'b`c", "n": 2**62, "x": 0.5, "ts": "2024-01-01 00:00:01.25", "d": "2024-02-29", "b": True},
        {"k": None, "n": -1, "x": 1e300, "ts": "2024-01-01T00:00:02"},
        {"n": 0, "other": [1], "ts": "1960-01-01 00:00:00", "b": False},
    ]
    for i, row in enumerate(rows):
        kafka.send("same", json.dumps(row, indent=i or None), key=f"k{i}", partition=i, at=1_000 + i)
    kafka.send("same", None, partition=3)
    session = sessions()
    session.run(
        "CREATE STREAM t (k STRING, n BIGINT, x DOUBLE, ts TIMESTAMP, d DATE, b BOOLEAN, who STRING, at TIMESTAMP, p BIGINT, "
        f"o BIGINT) ORDER BY at SOURCE 'kafka://{kafka.address}/same?end=latest' "
        "WITH (key = 'who', timestamp = 'at', partition = 'p', offset = 'o')"
    )
    ours: Any = session.run("SELECT * FROM t")[-1]
    assert ours.wait(200)
    of_stream = topic_of(streams(ours._pipeline.query.plan)[0].source)
    assert of_stream is not None and of_stream.brokers == kafka.address
    messages = spark.createDataFrame(
        [
            (f"k{p}".encode(), value, p, offset, 1_000 + p)
            for p in range(4)
            for offset, value in kafka.read("same", p, 0, 1)
        ],
        "key BINARY, value BINARY, partition INT, offset BIGINT, millis BIGINT",
    ).selectExpr("*", "timestamp_millis(millis) AS timestamp")
    theirs = pl.from_arrow(rows_of_messages(messages, of_stream).select(*ours.to_polars().columns).toArrow())
    assert isinstance(theirs, pl.DataFrame)
    same = theirs.with_columns(pl.col("ts", "at").dt.replace_time_zone(None), pl.col("d").cast(pl.String))
    answers = ours.to_polars().with_columns(pl.col("d").cast(pl.String))
    assert_same_bag(plain_rows(same), plain_rows(answers), answers.columns)
    only = rows_of_messages(messages, topic(record=Schema(()), told={"p": "partition"}))
    assert sorted(row.p for row in only.collect()) == [0, 1, 2, 3]


def test_without_the_connector_it_says_how_to_start_spark(
    kafka: Kafka, spark: Any, sessions: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka.send("some", '{"n": 1}')
    session = sessions()
    session.run(
        f"CREATE STREAM t (n INT, ts TIMESTAMP) ORDER BY ts SOURCE 'kafka://{kafka.address}/some' WITH (start = '0:1')"
    )
    query: Any = session.run("SELECT count(*) AS n FROM t [RANGE 1 MINUTE TUMBLING]")[-1]
    assert not has_connector(spark)
    with pytest.raises(UnsupportedError, match="no connector for Kafka") as refused:
        query.to_spark()
    assert f"spark-sql-kafka-0-10_2.13:{spark.version}" in str(refused.value)
    query.stop()
    said = " ".join(str(session.run("EXPLAIN SELECT count(*) FROM t [RANGE 1 MINUTE TUMBLING] ON SPARK")[-1]).split())
    assert "read by our connector" in said and "Spark's own connector for Kafka" in said
    of_stream = topic_of(streams(query._pipeline.query.plan)[0].source)
    assert of_stream is not None and of_stream.start == {0: 1, 1: None, 2: None, 3: None}
    monkeypatch.setattr(topics, "_CONNECTOR", "org.apache.spark.sql.SparkSession")
    assert has_connector(spark)
