"""Messages of Avro: values of every type, frames of Confluent's, what is no record, and through each broker there and back."""

from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import polars as pl
import pytest

from jupyter_stream import Session, SinkError
from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.messages import MessageFormat, Messages
from tests.sinks.takers import nats
from tests.sources.servers import opened
from tests.topics import Kafka
from tests.waiting import until

FIELDS: list[dict[str, Any]] = [
    {"name": "n", "type": "long"},
    {"name": "word", "type": ["null", "string"], "default": None},
    {"name": "x", "type": ["double", "null"]},
    {"name": "yes", "type": "boolean"},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2}},
    {"name": "kind", "type": ["null", {"type": "enum", "name": "kinds", "symbols": ["A", "B"]}]},
    {"name": "tags", "type": {"type": "array", "items": "string"}},
    {"name": "where", "type": {"type": "record", "name": "place", "fields": [{"name": "lat", "type": "double"}]}},
    {"name": "raw", "type": "bytes"},
    {"name": "more", "type": {"type": "map", "values": "int"}},
    {"name": "either", "type": ["null", "int", "string"]},
]
RECORD = {"type": "record", "name": "thing", "fields": FIELDS}
ROW: dict[str, Any] = {
    "n": 7, "word": "ä", "x": 1.5, "yes": True, "at": dt.datetime(2024, 3, 5, 10, 30, 0, 250_000, dt.UTC),
    "local": dt.datetime(2024, 3, 5, 10, 30), "day": dt.date(2024, 3, 5), "price": Decimal("7.50"), "kind": "B",
    "tags": ["a", "b"], "where": {"lat": 52.5}, "raw": b"\x00\xff", "more": {"k": 1}, "either": "text",
}  # fmt: skip
SHORT = {"type": "record", "name": "short", "fields": [{"name": "ts", "type": "long"}, {"name": "n", "type": "int"}]}


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    with closing(Kafka()) as made:
        yield made


def datum(schema: Any, row: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), row)
    return stream.getvalue()


def form(schema: Any, columns: Schema, **options: str) -> MessageFormat:
    return MessageFormat(
        {"format": "avro", "avro_schema": json.dumps(schema), **options}, columns, {}, Schema(()), "here"
    )


def parsed(made: MessageFormat, *values: bytes) -> Any:
    messages = Messages(values, pl.DataFrame(), lambda i: f" (message {i})")
    return made.parser(made.schema.fields).parse(messages)


def test_values_of_every_type_in_the_columns_that_the_schema_tells() -> None:
    source = opened("kafka://127.0.0.1:9/t", format="avro", avro_schema=json.dumps(RECORD))
    assert [f.dtype for f in source.schema][:9] == [
        pl.Int64, pl.String, pl.Float64, pl.Boolean, TIMESTAMP, TIMESTAMP, pl.Date, pl.Decimal(8, 2), pl.String,
    ]  # fmt: skip
    none = {**ROW, "word": None, "x": None, "kind": None, "either": None, "tags": []}
    chunk = parsed(form(RECORD, source.schema), datum(RECORD, ROW), datum(RECORD, none))
    assert chunk.rejected is None
    at = dt.datetime(2024, 3, 5, 10, 30, 0, 250_000)
    assert chunk.frame.row(0) == (
        7, "ä", 1.5, True, at, ROW["local"], ROW["day"], Decimal("7.50"), "B", ["a", "b"], {"lat": 52.5}, b"\x00\xff",
        '{"k": 1}', "text",
    )  # fmt: skip
    assert chunk.frame.row(1)[1:3] == (None, None) and chunk.frame.row(1)[8:10] == (None, [])


def test_what_is_no_record_is_told_alone_with_its_place() -> None:
    columns = Schema.of([("n", pl.Int8()), ("TS", pl.Int64())])
    good = datum(SHORT, {"ts": 1, "n": 5})
    chunk = parsed(
        form(SHORT, columns), good, good[:1], b"\xff" * 30, good + b"x", datum(SHORT, {"ts": 2, "n": 300}), good
    )
    assert chunk.frame.rows() == [(5, 1), (5, 1)]
    reasons = chunk.rejected["reason"].to_list()
    assert sorted(r.rpartition(" (")[2] for r in reasons) == [f"message {i})" for i in range(1, 5)]
    assert any("1 bytes are left over" in r for r in reasons) and any(
        "300 can't be read as TINYINT" in r for r in reasons
    )
    assert good[:1].hex() in chunk.rejected["raw"].to_list()


def test_confluents_frame_is_taken_off_and_its_number_looked_at() -> None:
    columns = Schema.of([("n", pl.Int32()), ("ts", pl.Int64())])
    good = datum(SHORT, {"ts": 1, "n": 5})
    framed = b"\x00\x00\x00\x00\x11" + good
    assert parsed(form(SHORT, columns, avro_framing="confluent"), framed).frame.rows() == [(5, 1)]
    assert parsed(form(SHORT, columns, avro_framing="confluent", avro_id="17"), framed).frame.rows() == [(5, 1)]
    other = parsed(form(SHORT, columns, avro_framing="confluent", avro_id="18"), framed, b"\x01" + good)
    assert not other.frame.height
    assert "its schema is number 17" in other.rejected["reason"][0] and "five bytes" in other.rejected["reason"][1]


def test_what_can_not_be_is_refused_with_what_to_write(tmp_path: Path) -> None:
    path = tmp_path / "short.avsc"
    path.write_text(json.dumps(SHORT))
    assert opened("ws://127.0.0.1:9/t", format="avro", avro_schema=str(path)).schema.names == ("ts", "n")
    for uri, options, said in (
        ("mqtt://127.0.0.1:9/t", {}, "needs the schema"),
        ("mqtt://127.0.0.1:9/t", {"avro_schema": "{"}, "is no JSON"),
        ("mqtt://127.0.0.1:9/t", {"avro_schema": '"int"'}, "can't be read"),
        ("mqtt://127.0.0.1:9/t", {"avro_schema": str(tmp_path / "none")}, "can't be read"),
        ("mqtt://127.0.0.1:9/t", {"avro_schema": str(path), "avro_id": "1"}, "avro_framing = 'confluent'"),
        ("socket://127.0.0.1:9", {"avro_schema": str(path)}, "records of Avro are bytes"),
        ("https://127.0.0.1:9/t", {"avro_schema": str(path)}, "records of Avro are bytes"),
    ):
        with pytest.raises(SourceError) as error:
            opened(uri, Schema.of([("n", pl.Int64())]), format="avro", **options)
        assert said in str(error.value)


def written(session: Session, uri: str, **options: str) -> Any:
    given = {"format": "avro", "avro_schema": "{{ schema }}", **options}
    said = ", ".join(
        f"{name} = {{{{ schema }}}}" if name == "avro_schema" else f"{name} = '{v}'" for name, v in given.items()
    )
    return session.execute(f"INSERT INTO '{uri}' WITH ({said}) SELECT ts, n FROM s")[0]


@pytest.mark.parametrize("scheme", ["kafka", "nats"])
def test_there_and_back_through_a_broker(scheme: str, kafka: Kafka) -> None:
    rows = pl.DataFrame({"ts": range(40), "n": [*range(39), 2**40]})
    with Session({"rows": rows, "schema": json.dumps(SHORT)}) as session:
        session.execute("CREATE STREAM s (ts BIGINT, n BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        uri, more = {
            "kafka": lambda: (f"kafka://{kafka.address}/avro", "start = 'earliest'"),
            "nats": lambda: (nats().address.replace("/t", "/kept.avro"), "start = 'earliest'"),
        }[scheme]()
        framed = {"avro_framing": "confluent", "avro_id": "17"}
        declared = (
            f"CREATE STREAM back SOURCE '{uri}' WITH (format = 'avro', avro_schema = {{{{ schema }}}}, "
            f"avro_framing = 'confluent', {more}, time = 'latent')"
        )
        session.execute(declared)
        (back,) = session.execute("SELECT n FROM back")
        q = written(session, uri, **framed)
        assert q.wait(200)
        assert q.errors.height == 1 and "the schema of Avro doesn't take it" in q.errors["reason"][0]
        until(lambda: set(back.to_polars()["n"]) == set(range(39)), lambda: (back.to_polars(), back.snapshot().hint))
        assert not back.errors.height


def test_a_schema_with_other_fields_is_refused_before_the_start() -> None:
    with Session({"rows": pl.DataFrame({"ts": [1], "m": [1]}), "schema": json.dumps(SHORT)}) as session:
        session.execute("CREATE STREAM s (ts BIGINT, m BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        with pytest.raises(SinkError, match="no column 'n'"):
            session.execute(
                "INSERT INTO 'nats://127.0.0.1:9/t' WITH (format = 'avro', avro_schema = {{ schema }}) SELECT * FROM s"
            )
        with pytest.raises(SinkError, match="Write format = 'avro'"):
            session.execute("INSERT INTO 'nats://127.0.0.1:9/t' WITH (avro_id = '3') SELECT * FROM s")
