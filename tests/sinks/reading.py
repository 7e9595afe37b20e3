"""Reading back what a sink was given, as other programs would; and rows of every type."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import confluent_kafka
import duckdb
import polars as pl

from jupyter_stream.core.far import as_json
from jupyter_stream.sinks.flat import flat
from jupyter_stream.sinks.sqlite import held
from tests.sinks.takers import as_postgres
from tests.topics import Kafka
from tests.waiting import PATIENCE

ALL_TYPES = pl.DataFrame(
    {
        "b": pl.Series([True, False, None], dtype=pl.Boolean),
        "i8": pl.Series([-128, 127, None], dtype=pl.Int8),
        "i16": pl.Series([-(2**15), 2**15 - 1, None], dtype=pl.Int16),
        "i32": pl.Series([-(2**31), 2**31 - 1, None], dtype=pl.Int32),
        "i64": pl.Series([-(2**63), 2**63 - 1, None], dtype=pl.Int64),
        "f32": pl.Series([0.5, -1e30, None], dtype=pl.Float32),
        "f64": pl.Series([1e300, 1 / 3, None], dtype=pl.Float64),
        "s": pl.Series(['a "quoted", text\nof two lines', "", None], dtype=pl.String),
        "raw": pl.Series([b"\x00\xff", b"", None], dtype=pl.Binary),
        "d": pl.Series([date(1969, 12, 31), date(2026, 2, 28), None], dtype=pl.Date),
        "t": pl.Series([datetime(1905, 1, 1, 1, 2, 3, 4), datetime(2026, 1, 1), None], dtype=pl.Datetime("us")),
        "span": pl.Series([timedelta(days=-2, microseconds=7), timedelta(0), None], dtype=pl.Duration("us")),
        "money": pl.Series([Decimal("-1.20"), Decimal("99999999.99"), None], dtype=pl.Decimal(10, 2)),
        "many": pl.Series([[1, None], [], None], dtype=pl.List(pl.Int64)),
        "both": pl.Series([{"x": 1, "y": "a"}, {"x": None, "y": None}, None], dtype=pl.Struct({"x": pl.Int64, "y": pl.String})),
    }
)  # fmt: skip


def files(folder: Path, pattern: str = "*") -> list[Path]:
    """What somebody who lists the folder sees."""
    return sorted(p for p in folder.rglob(pattern) if p.is_file() and not p.name.startswith("."))


def parquet(folder: Path) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(p) for p in files(folder, "*.parquet")])


def sqlite(path: Path, table: str, like: pl.DataFrame) -> pl.DataFrame:
    with closing(sqlite3.connect(path, timeout=PATIENCE)) as connection:
        names = ", ".join(f'"{c}"' for c in like.columns)
        rows = connection.execute(f'SELECT {names} FROM "{table}"').fetchall()
    return pl.DataFrame(rows, schema=held(like.clear()).schema, orient="row")


def duck(path: Path, table: str, like: pl.DataFrame) -> pl.DataFrame:
    spans = [n for n, t in like.schema.items() if isinstance(t, pl.Duration)]
    columns = ", ".join(f'epoch_us("{n}") AS "{n}"' if n in spans else f'"{n}"' for n in like.columns)
    with duckdb.connect(str(path)) as connection:
        found = connection.sql(f'SELECT {columns} FROM "{table}"').pl()
    return found.with_columns(pl.col(n).cast(pl.Duration("us")) for n in spans)


def messages(kafka: Kafka, topic: str) -> list[tuple[str | None, str | None]]:
    """Key and value of each message of a topic, those of a partition in order."""
    settings = {
        "bootstrap.servers": kafka.address,
        "group.id": "tests",
        "fetch.wait.max.ms": 10,
        "enable.partition.eof": True,
    }
    consumer = confluent_kafka.Consumer(settings)
    partitions = consumer.list_topics(topic, timeout=PATIENCE).topics[topic].partitions
    consumer.assign([confluent_kafka.TopicPartition(topic, partition, 0) for partition in partitions])
    found: dict[int, list[tuple[str | None, str | None]]] = {partition: [] for partition in partitions}
    left, net = set(partitions), time.monotonic() + PATIENCE
    while left:  # offsets say nothing of how many there are: the end of a transaction has one, too
        if time.monotonic() > net:
            raise TimeoutError(f"the end of partitions {left} didn't come")
        for m in consumer.consume(10_000, 0.05):
            if m.error() is None:
                found[m.partition()].append((m.key() and m.key().decode(), m.value() and m.value().decode()))
            elif m.error().code() == confluent_kafka.KafkaError._PARTITION_EOF:
                left.discard(m.partition())
    consumer.close()
    return [each for of_partition in found.values() for each in of_partition]


def last_by_key(found: list[tuple[str | None, str | None]]) -> list[tuple[str | None, str | None]]:
    """What a compacted topic keeps: all without a key, and the last of each other, unless it has no value."""
    kept: dict[object, tuple[str | None, str | None]] = {}
    for i, (key, value) in enumerate(found):
        kept[i if key is None else key] = (key, value)
    return [(key, value) for key, value in kept.values() if value is not None]


Back = Callable[[pl.DataFrame], pl.DataFrame]
AS_HELD: dict[str, Back] = {
    "csv": flat,
    "sqlite": held,
    "postgresql": as_postgres,
    "redis": lambda frame: flat(frame).cast(pl.String),
    "mqtt": lambda frame: as_json(frame).to_frame(),
    "nats": lambda frame: as_json(frame).to_frame(),
    "https": lambda frame: as_json(frame).to_frame(),
    "kafka": lambda frame: as_json(frame).to_frame(),
    "delta": lambda frame: frame.with_columns(pl.selectors.duration().dt.total_microseconds()),
}
"""What a format that has no such types holds of a frame."""


def alike(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Whether they hold the same rows, in any order."""
    assert one.schema == other.schema, (one.schema, other.schema)
    return sorted(map(repr, one.rows())) == sorted(map(repr, other.rows()))
