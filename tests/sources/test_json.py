from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources import open_source
from jupyter_stream.sources.json_text import JsonFormat
from tests.tiers import examples

BIDS = Schema.of([("itemID", pl.Int32()), ("price", pl.Float64()), ("note", pl.String()), ("ts", TIMESTAMP)])


def feed(data: bytes, cuts: list[int], schema: Schema) -> tuple[list[tuple[object, ...]], list[tuple[str, str]]]:
    parser = JsonFormat(None).parser(Path("x.jsonl"), schema, schema.fields)
    rows: list[tuple[object, ...]] = []
    rejected: list[tuple[str, str]] = []
    rest = b""
    edges = sorted({c for c in cuts if c < len(data)})
    for start, end in zip([0, *edges], [*edges, len(data)], strict=True):
        rest += data[start:end]
        whole = len(rest) if end == len(data) else parser.cut(rest)
        if whole:
            chunk = parser.parse(rest[:whole])
            rows += chunk.frame.rows()
            rejected += chunk.rejected.rows() if chunk.rejected is not None else []
        rest = rest[whole:]
    return rows, rejected


def test_types_and_columns_are_found_in_the_file(tmp_path, read):
    path = tmp_path / "bids.jsonl"
    path.write_text('{"a":1,"b":"x","t":"2024-01-01T00:00:00Z"}\n{"a":2.5,"c":[1,2],"t":null}\n')
    source = open_source(f"file://{path}", None, {}, {})
    assert str(source.schema) == "(a DOUBLE, b STRING, t TIMESTAMP, c ARRAY<BIGINT>)"
    assert read(source).rows == [
        (1.0, "x", dt.datetime(2024, 1, 1), None),
        (2.5, None, None, [1, 2]),
    ]


def test_keys_are_matched_whatever_their_case_and_missing_ones_are_null(tmp_path, read):
    path = tmp_path / "bids.jsonl"
    path.write_text('{"ITEMID":1,"Price":2,"other":{}}\n{"other":3}\n')
    assert read(open_source(f"file://{path}", BIDS, {}, {})).rows == [(1, 2.0, None, None), (None, None, None, None)]


def test_malformed_lines_are_told_apart_with_text_reason_and_line(tmp_path, read):
    path = tmp_path / "bids.jsonl"
    lines = [
        '{"itemID":1,"price":1,"ts":"1960-01-01"}',
        '{"itemID":2,',
        "",
        "[1,2]",
        '{"itemID":"abc","price":1}',
        '{"itemID":3.5}',
        '{"itemID":3e9}',
        '{"ts":1700000000}',
        '{"itemID":4.0,"price":"7","note":{"a":[1]}}',
        '{"itemID":5} {"itemID":6}',
    ]
    path.write_text("\n".join(lines) + "\n")
    result = read(open_source(f"file://{path}", BIDS, {}, {}))
    assert result.rows == [
        (1, 1.0, None, dt.datetime(1960, 1, 1)),
        (4, 7.0, '{"a": [1]}', None),
    ]
    told = dict(result.rejected)
    assert set(told) == set(lines) - {lines[0], "", lines[8]}
    assert told[lines[1]].startswith("not JSON") and told[lines[1]].endswith("(bids.jsonl, line 2)")
    assert told["[1,2]"] == "not a JSON object (bids.jsonl, line 4)"
    assert told[lines[4]] == "column itemID: 'abc' can't be read as INT (bids.jsonl, line 5)"
    assert told[lines[5]] == "column itemID: '3.5' can't be read as INT (bids.jsonl, line 6)"
    assert "'3000000000' can't be read as INT" in told[lines[6]]
    assert "timestamp_unit" in told[lines[7]]
    assert told[lines[9]].endswith("(bids.jsonl, line 10)")


def test_a_null_and_the_word_null_differ(tmp_path, read):
    path = tmp_path / "x.ndjson"
    path.write_text('{"s":null}\n{"s":"null"}\n{"s":""}\n')
    assert read(open_source(f"file://{path}", None, {}, {})).rows == [(None,), ("null",), ("",)]


def test_numbers_become_times_where_their_unit_is_told(tmp_path, read):
    path = tmp_path / "x.json"
    path.write_text('{"ts":1700000000123}\n{"ts":-1}\n{"ts":"2024-01-01T12:00:00+02:00"}\n')
    schema = Schema.of([("ts", TIMESTAMP)])
    assert read(open_source(f"file://{path}", schema, {"timestamp_unit": "ms"}, {})).rows == [
        (dt.datetime(2023, 11, 14, 22, 13, 20, 123_000),),
        (dt.datetime(1969, 12, 31, 23, 59, 59, 999_000),),
        (dt.datetime(2024, 1, 1, 10),),
    ]


def test_nested_values_and_decimals_have_their_declared_types(tmp_path, read):
    path = tmp_path / "x.json"
    path.write_text('{"l":[1,"2",null],"s":{"a":"1.5","b":"x"},"d":"1.25"}\n{"l":["x"]}\n{"l":[]}\n')
    schema = Schema.of(
        [
            ("l", pl.List(pl.Int64())),
            ("s", pl.Struct([pl.Field("a", pl.Float64()), pl.Field("b", pl.String())])),
            ("d", pl.Decimal(10, 2)),
        ]
    )
    result = read(open_source(f"file://{path}", schema, {}, {}))
    assert result.rows == [([1, 2, None], {"a": 1.5, "b": "x"}, Decimal("1.25")), ([], None, None)]
    assert [raw for raw, _ in result.rejected] == ['{"l":["x"]}']


def test_a_file_that_is_one_array_is_read_too(tmp_path, read):
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{"a": 1}, {"a": 2}, 3], indent=2))
    result = read(open_source(f"file://{path}", None, {}, {}))
    assert result.rows == [(1,), (2,)]
    assert [raw for raw, _ in result.rejected] == ["3"]


def test_bytes_that_are_no_utf8_spoil_their_line_only(tmp_path, read):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a":"x"}\n{"a":"\xff"}\n{"a":"y"}\n')
    result = read(open_source(f"file://{path}", None, {}, {}))
    assert result.rows == [("x",), ("y",)]
    assert [reason for _, reason in result.rejected] == ["bytes that are not UTF-8 (x.jsonl, line 2)"]


def test_objects_without_any_declared_column_are_refused_at_once(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"a":1}\n')
    with pytest.raises(SourceError, match="none of the declared columns") as error:
        open_source(f"file://{path}", BIDS, {}, {})
    assert "They have a." in str(error.value)


LINES = st.sampled_from(
    [
        b'{"a":1}', b'{"a":"x\\n\\u00e9"}', b'{"a":null,"b":2}', b"{}", b"", b"  ", b'{"a":', b"17", b"null", b'"a"', b"[{}]",
        b'{"a":{"c":[1,null]}}', b'{"a":1}x', b'{"a":\xff}', b'{"a":NaN}', b'{"a":"\\ud800"}', b'{"a":1e400}', b'{"b":"x"}\r',
        b'{"a":true}', b"{'a':1}",
    ]
)  # fmt: skip


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(LINES, max_size=12), st.lists(st.integers(0, 150), max_size=5))
def test_any_cutting_of_any_lines_gives_the_same_rows_and_rejects(lines, cuts):
    schema = Schema.of([("a", pl.String()), ("b", pl.Int64())])
    data = b'{"a":"first"}\n' + b"\n".join(lines)
    rows, rejected = feed(data, [], schema)
    again, rejected_again = feed(data, cuts, schema)
    assert again == rows
    assert sorted(rejected_again) == sorted(rejected)
    assert len(rows) + len(rejected) == 1 + sum(bool(line.strip()) for line in lines)
