"""Files of every make: read right, or told, or refused, never a raw error.

Headers x delimiters x encodings x packings x line ends, cut and damaged files at every place, and values of every kind where the
type was found without them: a short form here, all of it with the slow tests.
"""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import itertools
import random
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream.core.schema import Schema, type_name
from jupyter_stream.errors import SourceError
from jupyter_stream.sources import Request, open_source
from jupyter_stream.sources.csv_head import names_of
from jupyter_stream.sources.file import FileSource
from jupyter_stream.sources.packed import GzipBytes
from tests.sources.conftest import Read, collect
from tests.tiers import ALL, examples, slow, thinned

HEADERS: dict[str, tuple[tuple[str, str, str], tuple[str, str, str]]] = {
    "named": (("at", "k", "v"), ("at", "k", "v")),
    "unnamed first": (("", "k", "v"), ("column0", "k", "v")),
    "unnamed last": (("at", "k", " "), ("at", "k", "column2")),
    "none named": (("", "", ""), ("column0", "column1", "column2")),
    "repeated": (("at", "v", "v"), ("at", "v", "v_1")),
    "repeated in disguise": (("v_1", "v", "v"), ("v_1", "v", "v_2")),
    "all the same": (("v", "v", "v"), ("v", "v_1", "v_2")),
    "spaced": ((" at ", "k ", "  v"), ("at", "k", "v")),
    "other letters": (("Zeit", "größe", "цена"), ("Zeit", "größe", "цена")),
    "column0 is taken": (("", "column0", "v"), ("column0_1", "column0", "v")),
}
DELIMITERS = [",", ";", "\t", "|"]
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1251", "gb18030"]
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "two members": lambda data: gzip.compress(data[:40]) + gzip.compress(data[40:]),
    "padded": lambda data: gzip.compress(data) + bytes(100),
}
VALUES = [
    (dt.datetime(2024, 5, 1, 10), "a, b", 1.5),
    (dt.datetime(2024, 5, 1, 10, 1), "c; d | e", -2.0),
    (dt.datetime(2024, 5, 1, 10, 2), 'with "quotes"', 1e9),
    (dt.datetime(2024, 5, 1, 10, 3), "two\nlines", 0.25),
]
CELLS = list(itertools.product(HEADERS, DELIMITERS, ENCODINGS, PACKED, ["\n", "\r\n"]))


def written(header: str, delimiter: str, encoding: str, newline: str) -> bytes | None:
    """The file; None where the encoding has no such letters."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=newline)
    writer.writerow(HEADERS[header][0])
    writer.writerows([str(t), k, v] for t, k, v in VALUES)
    try:
        return text.getvalue().encode(encoding)
    except UnicodeEncodeError:
        return None


def check(path: Path, cell: tuple[str, str, str, str, str]) -> None:
    header, delimiter, encoding, packed, newline = cell
    data = written(header, delimiter, encoding, newline)
    if data is None:
        return
    path.write_bytes(PACKED[packed](data))
    marked = encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32")
    source = open_source(f"file://{path}", None, {} if marked else {"encoding": encoding}, {})
    assert source.schema.names == HEADERS[header][1], cell
    assert [type_name(f.dtype) for f in source.schema] == ["TIMESTAMP", "STRING", "DOUBLE"], cell
    read = collect(source.read(Request()))
    assert read.rows == VALUES and not read.rejected, cell
    if not marked and (encoding.startswith("utf-") or header == "other letters"):
        with pytest.raises(SourceError, match="encoding = "):
            open_source(f"file://{path}", None, {}, {})


@pytest.mark.parametrize("header", thinned(HEADERS))
def test_every_header_in_every_make_of_file(header: str, tmp_path: Path) -> None:
    cells = [c for c in CELLS if c[0] == header]
    for cell in random.Random(header).sample(cells, 48 if ALL else 6):
        check(tmp_path / "x.csv", cell)


@given(
    st.lists(st.sampled_from(["", " ", "v", "v_1", " v", "column0", "column1", "column1_1"]), min_size=1, max_size=6)
)
@settings(max_examples=examples(300), deadline=None)
def test_names_are_each_there_once_and_those_of_the_file_stay(fields: list[str]) -> None:
    names = names_of(fields)
    assert len(set(names.all)) == len(fields)
    first = {name.strip() for name in fields} - {""}
    assert first <= set(names.all)
    assert all(own == name.strip() for own, name in zip(names.all, fields, strict=True) if own in first)
    assert len(names.unnamed) == sum(not name.strip() for name in fields)


# -- damaged files

ROWS = "".join(f"2024-05-01 {i // 60 % 24:02}:{i % 60:02}:00,{i * i}\n" for i in range(400))
WHOLE = ("at,v\n" + ROWS).encode()


def pieces(data: bytes) -> tuple[bytes, str | None]:
    """What a file packed by gzip gives, read in small pieces."""
    file = GzipBytes(io.BytesIO(data))
    found = b""
    while more := file.read(997):
        found += more
    return found, file.damage


def test_a_file_cut_anywhere_gives_what_can_be_unpacked_and_says_so() -> None:
    packed = gzip.compress(WHOLE, mtime=0)
    before = 0
    for end in [*range(2, len(packed) - 8, 1 if ALL else 23), len(packed) - 8, len(packed) - 1]:
        found, damage = pieces(packed[:end])
        assert damage is not None and WHOLE.startswith(found) and len(found) >= before, end
        before = len(found)
    assert before == len(WHOLE)
    assert pieces(packed) == (WHOLE, None)


@slow
def test_a_file_with_a_wrong_byte_is_read_or_told(tmp_path: Path) -> None:
    packed = gzip.compress(WHOLE, mtime=0)
    path = tmp_path / "x.csv.gz"
    for at in range(10, len(packed), 7 if ALL else 151):
        damaged = bytearray(packed)
        damaged[at] ^= 0x55
        path.write_bytes(damaged)
        read = whole_or_told(path)
        assert read is None or read.rows == whole_rows() or read.rejected, at


def test_a_file_that_broke_off_gives_its_whole_records_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.csv.gz"
    packed = gzip.compress(WHOLE, mtime=0)
    for end in range(len(packed) // 2, len(packed), 11 if ALL else 301):
        path.write_bytes(packed[:end])
        read = collect(open_source(f"file://{path}", None, {}, {}).read(Request()))
        assert read.rows == whole_rows()[: len(read.rows)] and len(read.rows) > 50
        assert read.rejected[-1][0] == str(path) and "damaged" in read.rejected[-1][1]


def whole_rows() -> list[tuple[object, ...]]:
    start = dt.datetime(2024, 5, 1)
    return [(start + dt.timedelta(minutes=i), i * i) for i in range(400)]


def whole_or_told(path: Path) -> Read | None:
    """The rows; None where it is refused. Any other error is one of ours."""
    try:
        return collect(open_source(f"file://{path}", None, {}, {}).read(Request()))
    except SourceError as error:
        assert str(path) in error.message
        return None


MAGIC = [b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"\x28\xb5\x2f\xfd", b"BZh9", b"\xfd7zXZ", b"PAR1", b"SQLite format 3\0"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize("start", MAGIC)
def test_what_is_no_text_is_refused_with_what_to_do(ending: str, start: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"x.{ending}"
    path.write_bytes(start + bytes(range(256)))
    with pytest.raises(SourceError, match="not read as text") as caught:
        open_source(f"file://{path}", None, {}, {})
    assert caught.value.hint


@given(st.binary(max_size=200), st.sampled_from(["csv", "tsv", "jsonl", "csv.gz", "parquet"]))
@settings(max_examples=examples(500), deadline=None)
def test_bytes_of_any_kind_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, ending: str
) -> None:
    path = tmp_path_factory.mktemp("any") / f"x.{ending}"
    path.write_bytes(data)
    whole_or_told(path)


# -- values that came after the type was found

FOUND = {
    "BIGINT": ("7", ["007", "-07", "89441100682562700541", "1.5", "x", "1,5", "1e3", ""]),
    "DOUBLE": ("1.5", ["007", "007.5", "89441100682562700541", "x", "1,5", "1e3", "-0.5", "0", ""]),
    "DATE": (
        "2024-05-01",
        ["2024-05-01 10:00:00", "2024-05-01T00:00:00", "2024-05-01T00:00:00+02:00", "x", "01.05.2024"],
    ),
    "BOOLEAN": ("true", ["FALSE", "x", "2", ""]),
    "TIMESTAMP": ("2024-05-01 10:00:00", ["2024-05-02", "10:00", "1714557600", "x"]),
}
LOST = {
    ("BIGINT", "007"), ("BIGINT", "-07"), ("BIGINT", "89441100682562700541"), ("DOUBLE", "007"), ("DOUBLE", "007.5"),
    ("DOUBLE", "89441100682562700541"), ("DATE", "2024-05-01 10:00:00"), ("DATE", "2024-05-01T00:00:00+02:00"),
}  # fmt: skip
"""What the type found would change: refused, with the declaration that reads it."""
READ = {
    ("BIGINT", "1e3"), ("BIGINT", ""), ("DOUBLE", "1e3"), ("DOUBLE", "-0.5"), ("DOUBLE", "0"), ("DOUBLE", ""),
    ("DATE", "2024-05-01T00:00:00"), ("BOOLEAN", "FALSE"), ("BOOLEAN", ""), ("TIMESTAMP", "2024-05-02"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FOUND)
def test_a_value_that_the_type_found_would_change_is_told(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_stream.sources.file.HEAD", 4_000)
    word, later = FOUND[kind]
    path = tmp_path / "x.csv"
    for value in later:
        shown = f'"{value}"' if "," in value else value
        path.write_text("n,v\n" + f"1,{word}\n" * 2_000 + f"2,{shown}\n1,{word}\n")
        source = open_source(f"file://{path}", None, {}, {})
        assert type_name(source.schema.fields[1].dtype) == kind
        read = collect(source.read(Request()))
        was_read = (kind, value) in READ
        assert read.frame.height == 2_001 + was_read and len(read.rejected) == (not was_read), (kind, value)
        if not was_read:
            ((raw, reason),) = read.rejected
            assert raw == f"2,{shown}" and f"can't be read as {kind}" in reason and "(x.csv, line 2002)" in reason
            assert ("declare v " in reason) == ((kind, value) in LOST), reason


def test_what_is_declared_is_the_users(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("i,x,d\n007,89441100682562700541,2024-05-01 10:00:00\n")
    declared = Schema.of([("i", pl.Int64()), ("x", pl.Float64()), ("d", pl.Date())])
    read = collect(open_source(f"file://{path}", declared, {}, {}).read(Request()))
    assert read.rows == [(7, 89441100682562700541.0, dt.date(2024, 5, 1))] and not read.rejected


NUMBERS = [
    ("1,5", {"decimal": ","}, 1.5), ("1.234,5", {"decimal": ",", "thousands": "."}, 1234.5),
    ("1.5", {"decimal": ","}, None), ("1.5", {"decimal": ",", "thousands": "."}, None),
    ("12.34,5", {"decimal": ",", "thousands": "."}, None),
    ("1 234 567", {"thousands": " "}, 1234567.0), ("1'234.5", {"thousands": "'"}, 1234.5), ("-1,5e3", {"decimal": ","}, -1500.0),
    ("+,5", {"decimal": ","}, 0.5), ("1.234.567", {"decimal": ",", "thousands": "."}, 1234567.0), ("x", {"decimal": ","}, None),
    (" 1,5 ", {"decimal": ","}, 1.5), ("1\u00a0234,5", {"decimal": ",", "thousands": "\u00a0"}, 1234.5),
]  # fmt: skip


@pytest.mark.parametrize(("word", "options", "value"), NUMBERS)
def test_numbers_are_read_as_the_options_say_or_refused(
    word: str, options: dict[str, str], value: float | None, tmp_path: Path
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"k;v\na;{word}\n")
    schema = Schema.of([("k", pl.String()), ("v", pl.Float64())])
    read = collect(open_source(f"file://{path}", schema, options, {}).read(Request()))
    assert read.rows == ([] if value is None else [("a", value)])
    assert [raw for raw, _ in read.rejected] == ([f"a;{word}"] if value is None else [])


@pytest.mark.parametrize(
    ("options", "about"),
    [({"decimal": "ab"}, "decimal"), ({"decimal": ""}, "decimal"), ({"thousands": "5"}, "thousands"),
     ({"decimal": "x"}, "decimal"), ({"decimal": "-"}, "decimal"), ({"decimal": " "}, "decimal"),
     ({"thousands": "e"}, "thousands"), ({"thousands": "+"}, "thousands"), ({"delimiter": "x"}, "delimiter"),
     ({"delimiter": "7"}, "delimiter"),
     ({"delimiter": "\n"}, "delimiter"), ({"quote": "q"}, "quote"), ({"quote": ";", "delimiter": ";"}, "quote"),
     ({"header": "maybe"}, "header"),
     ({"decimal": ",", "thousands": ","}, "thousands"), ({"encoding": "utf-9"}, "encoding"), ({"encoding": "base64"}, "encoding"),
     ({"encoding": "utf-7"}, "encoding"), ({"encoding": ""}, "encoding"), ({"encoding": "idna"}, "encoding")],
)  # fmt: skip
def test_options_that_cannot_be_are_refused(options: dict[str, str], about: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("v\n1\n")
    with pytest.raises(SourceError) as caught:
        open_source(f"file://{path}", None, options, {})
    assert caught.value.option == about and caught.value.hint


# -- which delimiter


@pytest.mark.parametrize(
    ("lines", "delimiter"),
    [
        (["a", "1"], ","), (["a,b", "1,2"], ","), (["Zeit;Wert", "10:00;1,5"], ";"), (["Zeit;Wert, gemessen", "10:00;1,5"], ";"),
        (["a,b,c|d", "1,2,3|4"], ","), (["Date;Temp, indoor, C", "1;21,5", "2;22,5"], ";"), (["note", "x; y", "z"], ","),
        (["a|b", "1|2"], "|"), (["a\tb", "1\t2"], "\t"), (['"a;b",c', "1,2"], ","), (["sep=;", "a,b;c", "1,2;3"], ";"),
        (["a;b"], ";"), (["a, b", "1, 2"], ","), (["a,b", "x;y,1", "z;w,2"], ","),
    ],
)  # fmt: skip
def test_the_delimiter_is_found_however_the_file_is_cut(lines: list[str], delimiter: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("\n".join([*lines, ""]))
    source = open_source(f"file://{path}", None, {}, {})
    told = open_source(f"file://{path}", None, {"delimiter": delimiter}, {})
    assert source.schema == told.schema
    assert collect(source.read(Request())).rows == collect(told.read(Request())).rows
    assert isinstance(source, FileSource)
    notes = " ".join(source.notes)
    assert ("separated by" in notes) == (delimiter != ",")


def test_files_of_a_folder_may_have_other_delimiters_and_headers(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("k;v\nx;1\n")
    (tmp_path / "b.csv").write_text("v,k\n2,y\n")
    (tmp_path / "c.csv").write_bytes("w\tk\n3\tz\n".encode("utf-16"))
    source = open_source(f"file://{tmp_path}", None, {}, {})
    assert source.schema.names == ("k", "v", "w")
    assert collect(source.read(Request())).rows == [("x", 1, None), ("y", 2, None), ("z", None, 3)]


def test_a_declared_column_may_be_in_another_file_and_must_be_in_one(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("k\nx\n")
    (tmp_path / "b.csv").write_text("k,v\ny,2\n")
    schema = Schema.of([("v", pl.Int64()), ("k", pl.String())])
    source = open_source(f"file://{tmp_path}", schema, {}, {})
    request = Request()
    assert collect(source.read(request)).rows == [(None, "x"), (2, "y")]
    assert request.remarks.texts == ["a.csv has no v: NULL there."]
    only_v = collect(source.read(Request(("v",))))
    assert only_v.rows == [(None,), (2,)]
    with pytest.raises(SourceError, match="no column 'vv'") as caught:
        open_source(f"file://{tmp_path}", Schema.of([("k", pl.String()), ("vv", pl.Int64())]), {}, {})
    assert "header" in str(caught.value.hint)


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_columns_of_folders_are_read_alone_and_with_others(ending: str, tmp_path: Path) -> None:
    for day, k in [("2024-05-01", "a%2Fb"), ("2024-05-02", "__HIVE_DEFAULT_PARTITION__")]:
        folder = tmp_path / f"day={day}" / f"k={k}"
        folder.mkdir(parents=True)
        frame = pl.DataFrame({"v": [1, 2], "k": ["no", "no"]})
        writers = {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}
        writers[ending](folder / f"x.{ending}")
    source = open_source(f"file://{tmp_path}", None, {}, {})
    assert str(source.schema) == "(v BIGINT, day DATE, k STRING)"
    first, second = dt.date(2024, 5, 1), dt.date(2024, 5, 2)
    assert collect(source.read(Request())).rows == [
        (1, first, "a/b"), (2, first, "a/b"), (1, second, None), (2, second, None),
    ]  # fmt: skip
    assert collect(source.read(Request(("day",)))).rows == [(first,), (first,), (second,), (second,)]
    part = open_source(f"file://{tmp_path}/day=2024-05-0*", None, {}, {})
    assert part.schema.names == ("v", "day", "k")
    declared = Schema.of([("day", pl.Int64()), ("v", pl.Int64())])
    with pytest.raises(SourceError, match=r"day=2024-05-01 of x.* can't be read as BIGINT"):
        open_source(f"file://{tmp_path}", declared, {}, {})
