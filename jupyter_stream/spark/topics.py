"""Topics of Kafka read by Spark's own connector, for a streaming DataFrame; not for queries, whose rows our connector reads."""

from __future__ import annotations

import json
from typing import Any, Final

from jupyter_stream.core.schema import Field
from jupyter_stream.core.topic import Topic
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.spark.expressions import quoted
from jupyter_stream.spark.remote import is_remote
from jupyter_stream.spark.texts import PLAIN
from jupyter_stream.spark.types import spark_ddl
from jupyter_stream.spark.written import WrittenSpark

_CONNECTOR: Final = "org.apache.spark.sql.kafka010.KafkaSourceProvider"
_FIRST: Final = -2
"""How Spark writes the first offset that is there."""
_HINT: Final = "Start the query with --engine spark instead: our connector then reads the topic."


def topic_of(source: object) -> Topic | None:
    """The topic a stream's source reads; None for other sources."""
    found = getattr(source, "topic", None)
    return found if isinstance(found, Topic) else None


def has_connector(spark: Any) -> bool:
    """Whether Spark can read topics: its connector is a jar of its own. Of Spark Connect that can't be told."""
    if is_remote(spark):
        return False
    loader = spark.sparkContext._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return loader.getResource(_CONNECTOR.replace(".", "/") + ".class") is not None


def check_readable(topic: Topic) -> None:
    """Raise `UnsupportedError` if Spark would read a topic otherwise than our connector."""
    if topic.ends:
        raise _refused(f"the stream ends where the topic {topic.name} ends now, and a streaming DataFrame goes on")
    beyond = next((o for o in topic.options if o != "format"), None)
    if beyond is not None:
        raise _refused(f"the option {beyond} works in our connector only")
    if topic.options.get("format", "json").strip().lower() != "json":
        raise _refused("a message of CSV may hold several records")
    odd = next((f for f in topic.record if f.dtype not in PLAIN), None)
    if odd is not None:
        raise _refused(f"{odd.name} is of a type that Spark writes differently in text")


def options_of(topic: Topic) -> dict[str, str]:
    """The options of Spark's source for a topic."""
    if isinstance(topic.start, str):
        start: str = topic.start
    else:
        offsets = {str(p): _FIRST if offset is None else offset for p, offset in sorted(topic.start.items())}
        start = json.dumps({topic.name: offsets})
    return {
        "kafka.bootstrap.servers": topic.brokers,
        "subscribe": topic.name,
        "startingOffsets": start,
        "failOnDataLoss": "true",  # what is no longer there must be told, never skipped
    }


def rows_of_topic(spark: Any, topic: Topic) -> Any:
    """The rows of a topic as a streaming DataFrame of the stream's columns.

    Args:
        spark: the `SparkSession`.
        topic: `check_readable` has let it pass.

    Raises:
        UnsupportedError: this Spark has no connector for Kafka.
    """
    if not isinstance(spark, WrittenSpark) and not has_connector(spark):
        raise UnsupportedError(
            "this Spark has no connector for Kafka",
            hint="Start it with --conf spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13:"
            f"{spark.version}, or start the query with --engine spark: our connector then reads the topic.",
        )
    return rows_of_messages(spark.readStream.format("kafka").options(**options_of(topic)).load(), topic)


def rows_of_messages(messages: Any, topic: Topic) -> Any:
    """The rows of messages as Spark's connector gives them; one that holds nothing is left out, one that is no record ends all.

    Args:
        messages: with the columns key, value, partition, offset and timestamp.
        topic: what they are of.
    """
    told = [f"{_TELLS[column]} AS {quoted(name)}" for name, column in topic.told.items()]
    if not topic.record.fields:
        return messages.selectExpr(*told)
    ddl = ", ".join(_ddl(f) for f in topic.record).replace("'", "\\'")
    record = f"from_json(CAST(value AS STRING), '{ddl}', map('mode', 'FAILFAST')) AS `$record`"
    rows = messages.where("length(trim(CAST(value AS STRING))) > 0").selectExpr(record, *told)
    return rows.selectExpr("`$record`.*", *(quoted(name) for name in topic.told))


_TELLS: Final = {
    "key": "CAST(key AS STRING)",
    "timestamp": "timestamp",
    "partition": "CAST(partition AS BIGINT)",
    "offset": "`offset`",
}


def _ddl(field: Field) -> str:
    return f"{quoted(field.name)} {spark_ddl(field.dtype)}"


def _refused(what: str) -> UnsupportedError:
    return UnsupportedError(f"Spark would read this topic differently from our connector: {what}", hint=_HINT)
