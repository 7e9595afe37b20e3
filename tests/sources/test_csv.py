from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources import open_source
from jupyter_stream.sources.csv_text import CsvFormat
from jupyter_stream.sources.text import TextParser
from tests.tiers import examples

TRADES = Schema.of([("symbol", pl.String()), ("price", pl.Float64()), ("volume", pl.Int32()), ("ts", TIMESTAMP)])


def feed(parser: TextParser, data: bytes, cuts: list[int]) -> tuple[list[tuple[object, ...]], list[tuple[str, str]]]:
    """Rows and rejected records when the text arrives in pieces."""
    rows: list[tuple[object, ...]] = []
    rejected: list[tuple[str, str]] = []
    rest = b""
    edges = sorted({c for c in cuts if c < len(data)})
    for start, end in zip([0, *edges], [*edges, len(data)], strict=True):
        rest += data[start:end]
        whole = parser.cut(rest)
        chunks = [parser.parse(rest[:whole])] if whole else []
        rest = rest[whole:]
        if end == len(data) and rest:
            chunks.append(parser.parse(rest))
        for chunk in chunks:
            rows += chunk.frame.rows()
            rejected += chunk.rejected.rows() if chunk.rejected is not None else []
    return rows, rejected


def parser(width: int, **options: str) -> TextParser:
    schema = Schema.of([(f"c{i}", pl.String()) for i in range(width)])
    return CsvFormat({"header": "false", **options}, None, ",").parser(Path("x.csv"), schema, schema.fields)


def test_types_and_columns_are_found_in_the_file(tmp_path, read):
    path = tmp_path / "trades.csv"
    path.write_text(
        "symbol,price,volume,up,day,ts,zip\nA,1.5,10,true,2024-01-02,2024-01-02T10:00:00Z,01234\nB,2,,false,,,\n"
    )
    source = open_source(f"file://{path}", None, {}, {})
    assert str(source.schema) == (
        "(symbol STRING, price DOUBLE, volume BIGINT, up BOOLEAN, day DATE, ts TIMESTAMP, zip STRING)"
    )
    assert read(source).rows == [
        ("A", 1.5, 10, True, dt.date(2024, 1, 2), dt.datetime(2024, 1, 2, 10), "01234"),
        ("B", 2.0, None, False, None, None, None),
    ]


def test_declared_columns_are_found_by_name_whatever_their_case_and_place(tmp_path, read):
    path = tmp_path / "trades.csv"
    path.write_text("TS,extra,Volume,price,SYMBOL\n1969-12-31 23:59:59.5,x,7,1e3,A\n")
    assert read(open_source(f"file://{path}", TRADES, {}, {})).rows == [
        ("A", 1000.0, 7, dt.datetime(1969, 12, 31, 23, 59, 59, 500_000))
    ]


def test_malformed_records_are_told_apart_with_text_reason_and_line(tmp_path, read):
    path = tmp_path / "trades.csv"
    path.write_text(
        "symbol,price,volume,ts\n"
        "A,1.5,10,2024-01-01\n"
        "A,abc,10,2024-01-01\n"
        "\n"
        "A,1.5\n"
        '"B\nB",2.5,20,2024-01-01\n'
        "A,1.5,99999999999,2024-01-01\n"
        "A,1.5,10,2024-02-30\n"
        "A,1,2,3,4,5\n"
        "C,3.5,30,2024-01-01"
    )
    result = read(open_source(f"file://{path}", TRADES, {}, {}))
    assert [row[0] for row in result.rows] == ["A", "B\nB", "C"]
    assert sorted(result.rejected, key=lambda r: int(r[1].split("line ")[1].rstrip(")"))) == [
        ("A,abc,10,2024-01-01", "column price: 'abc' can't be read as DOUBLE (trades.csv, line 3)"),
        ("A,1.5", "2 fields where 4 were expected (trades.csv, line 5)"),
        ("A,1.5,99999999999,2024-01-01", "column volume: '99999999999' can't be read as INT (trades.csv, line 8)"),
        ("A,1.5,10,2024-02-30", "column ts: '2024-02-30' can't be read as TIMESTAMP (trades.csv, line 9)"),
        ("A,1,2,3,4,5", "6 fields where 4 were expected (trades.csv, line 10)"),
    ]


def test_bytes_that_are_no_utf8_spoil_their_record_only(tmp_path, read):
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b\n1,x\n2,\xff\xfe\n3,y\n")
    result = read(open_source(f"file://{path}", None, {}, {}))
    assert result.rows == [(1, "x"), (3, "y")]
    assert [reason for _, reason in result.rejected] == ["bytes that are not UTF-8 (x.csv, line 3)"]


def test_an_unclosed_quote_spoils_its_own_line_only(monkeypatch):
    monkeypatch.setattr("jupyter_stream.sources.csv_records.LONGEST", 20)
    rows, rejected = feed(parser(2), b'1,a\n2,"b\n3,c\n4,d\n5,e\n6,f\n7,g\n', [])
    assert [row[0] for row in rows] == ["1", "3", "4", "5", "6", "7"]
    assert rejected == [('2,"b', "a quote is opened and not closed (x.csv, line 2)")]


def test_a_column_not_asked_for_is_neither_converted_nor_a_reason_to_reject(tmp_path, read):
    path = tmp_path / "trades.csv"
    path.write_text("symbol,price,volume,ts\nA,abc,10,2024-01-01\n")
    result = read(open_source(f"file://{path}", TRADES, {}, {}), "symbol", "volume")
    assert result.frame.columns == ["symbol", "volume"]
    assert result.rows == [("A", 10)]
    assert result.rejected == []


def test_delimiter_quote_null_words_and_missing_header(tmp_path, read):
    path = tmp_path / "x.txt"
    path.write_text("'a;b';NA;1\n'';-;2\n;x;3\n")
    schema = Schema.of([("s", pl.String()), ("t", pl.String()), ("n", pl.Int64())])
    options = {"format": "csv", "delimiter": ";", "quote": "'", "null": "NA, -", "header": "false"}
    assert read(open_source(f"file://{path}", schema, options, {})).rows == [
        ("a;b", None, 1),
        ("", None, 2),
        (None, "x", 3),
    ]


def test_tabs_byte_order_mark_windows_lines_and_gzip(tmp_path, read):
    path = tmp_path / "x.tsv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"\xef\xbb\xbfa\tb\r\n1\tx\r\n2\ty\r\n")
    assert read(open_source(f"file://{path}", None, {}, {})).rows == [(1, "x"), (2, "y")]


def test_numbers_are_times_only_where_their_unit_is_told(tmp_path, read):
    path = tmp_path / "x.csv"
    path.write_text("ts\n1700000000\n-1.5\n2024-01-01\n")
    schema = Schema.of([("ts", TIMESTAMP)])
    told = read(open_source(f"file://{path}", schema, {"timestamp_unit": "s"}, {}))
    assert told.rows == [
        (dt.datetime(2023, 11, 14, 22, 13, 20),),
        (dt.datetime(1969, 12, 31, 23, 59, 58, 500_000),),
        (dt.datetime(2024, 1, 1),),
    ]
    untold = read(open_source(f"file://{path}", schema, {}, {}))
    assert untold.rows == [(dt.datetime(2024, 1, 1),)]
    assert "timestamp_unit" in untold.rejected[0][1]


@pytest.mark.parametrize(
    ("number", "unit"),
    [
        ("1714557600", "s"), ("1714557600.25", "s"), (" 1714557600.25 ", "s"), ("1714557600250", "ms"),
        ("1714557600250000", "us"), ("1714557600250000000", "ns"), ("-.5", "us"), ("9" * 5000, "us"),
    ],
)  # fmt: skip
def test_the_unit_that_is_named_is_the_one_in_which_a_number_is_a_time_of_our_age(number, unit, tmp_path, read):
    path = tmp_path / "x.csv"
    path.write_text(f"ts,v\n{number},1\n")
    untold = read(open_source(f"file://{path}", Schema.of([("ts", TIMESTAMP)]), {}, {}))
    assert f"WITH (timestamp_unit = '{unit}')" in untold.rejected[0][1]


def test_a_declared_column_that_the_header_lacks_is_refused_at_once(tmp_path):
    path = tmp_path / "trades.csv"
    path.write_text("symbol,prise,volume,ts\n")
    with pytest.raises(SourceError, match="no column 'price'") as error:
        open_source(f"file://{path}", TRADES, {}, {})
    assert "'prise'" in str(error.value)
    assert "header = 'false'" in str(error.value)


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(st.lists(st.text('ab,"\n é', max_size=5), min_size=3, max_size=3), max_size=12),
    st.lists(st.integers(0, 120), max_size=5),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_a_csv_writer_wrote_is_read_back_wherever_it_is_cut(rows, cuts, newline):
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator=newline, quoting=csv.QUOTE_ALL).writerows(rows)
    found, rejected = feed(parser(3), buffer.getvalue().encode(), cuts)
    assert [list(row) for row in found] == rows
    assert rejected == []


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(st.sampled_from([b"a", b"1", b",", b'"', b"\n", b"\r\n", b"\r", b" ", b"\xff", b'""']), max_size=40).map(
        b"".join
    ),
    st.lists(st.integers(0, 60), max_size=5),
)
def test_any_cutting_of_any_text_gives_the_same_rows_and_rejects(data, cuts):
    data = b"first,record\n" + data
    rows, rejected = feed(parser(2), data, [])
    again, rejected_again = feed(parser(2), data, cuts)
    assert again == rows
    assert sorted(rejected_again) == sorted(rejected)
