from __future__ import annotations

import datetime as dt
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources import Request, open_source
from jupyter_stream.sources.protocol import REPLAY_ROWS
from tests.tiers import slow


def test_a_folder_is_read_in_name_order_and_marks_of_other_programs_are_left_out(tmp_path, read):
    for name, value in (("b.csv", 2), ("a.csv", 1), ("c.csv", 3), ("_SUCCESS", 9), (".hidden.csv", 9), ("notes.md", 9)):
        (tmp_path / name).write_text(f"v\n{value}\n")
    assert read(open_source(f"file://{tmp_path}", None, {}, {})).rows == [(1,), (2,), (3,)]


def test_a_pattern_reads_what_matches_and_formats_may_differ(tmp_path, read):
    (tmp_path / "d1").mkdir()
    (tmp_path / "d2").mkdir()
    (tmp_path / "d1" / "x.csv").write_text("v\n1\n")
    (tmp_path / "d2" / "x.jsonl").write_text('{"v":2}\n')
    pl.DataFrame({"v": [3]}).write_parquet(tmp_path / "d2" / "x.parquet")
    assert read(open_source(f"file://{tmp_path}/d*/x.*", None, {}, {})).rows == [(1,), (2,), (3,)]
    assert read(open_source(f"file://{tmp_path}/**/*.jsonl", None, {}, {})).rows == [(2,)]


def test_paths_may_be_relative_or_begin_at_home(tmp_path, read, monkeypatch):
    (tmp_path / "x.csv").write_text("v\n1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read(open_source("file://x.csv", None, {}, {})).rows == [(1,)]
    assert read(open_source("file://~/x.csv", None, {}, {})).rows == [(1,)]


@pytest.mark.parametrize(
    ("path", "message", "hint"),
    [
        ("trade.csv", "No file matches {}/trade.csv", "Did you mean '{}/trades.csv'?"),
        ("dta/trades.csv", "No file matches {}/dta/trades.csv", "Did you mean '{}/data'?"),
        ("*.parquet", "No file matches {}/*.parquet", "holds data/, trades.csv"),
        ("data", "There are no files in {}/data", ""),
        ("trades.csv/x", "No file matches {}/trades.csv/x", "trades.csv"),
    ],
)
def test_a_path_that_matches_nothing_says_where_it_looked_and_what_is_there(tmp_path, path, message, hint):
    (tmp_path / "trades.csv").write_text("v\n1\n")
    (tmp_path / "data").mkdir()
    with pytest.raises(SourceError) as error:
        open_source(f"file://{tmp_path}/{path}", None, {}, {})
    assert message.format(tmp_path) in str(error.value)
    assert hint.format(tmp_path) in str(error.value)


def test_an_unknown_ending_asks_for_the_format(tmp_path, read):
    (tmp_path / "x.log").write_text("v\n1\n")
    with pytest.raises(SourceError, match="known ending"):
        open_source(f"file://{tmp_path}/x.log", None, {}, {})
    assert read(open_source(f"file://{tmp_path}/x.log", None, {"format": "csv"}, {})).rows == [(1,)]
    with pytest.raises(SourceError, match="format can't be 'cvs'") as error:
        open_source(f"file://{tmp_path}/x.log", None, {"format": "cvs"}, {})
    assert "Did you mean 'csv'?" in str(error.value)


def test_new_files_of_a_folder_are_read_by_the_next_read(tmp_path, read):
    (tmp_path / "a.csv").write_text("v\n1\n")
    source = open_source(f"file://{tmp_path}", None, {}, {})
    assert read(source).rows == [(1,)]
    (tmp_path / "b.csv").write_text("v\n2\n")
    assert read(source).rows == [(1,), (2,)]


@slow
def test_large_text_files_come_in_batches_with_every_row_once(tmp_path, read):
    frame = pl.DataFrame({"i": range(400_000)}).with_columns(s=pl.lit("word-") + pl.col("i").cast(pl.String))
    frame.write_csv(tmp_path / "x.csv")
    frame.write_ndjson(tmp_path / "x.jsonl")
    for name in ("x.csv", "x.jsonl"):
        result = read(open_source(f"file://{tmp_path}/{name}", None, {}, {}))
        assert result.frame.equals(frame)
        assert max(result.sizes) <= REPLAY_ROWS


def test_parquet_gives_the_columns_asked_for_in_their_declared_types(tmp_path, read):
    table = pa.table(
        {
            "K": pa.array([1, 2, 300], pa.int64()),
            "ts": pa.array(
                [dt.datetime(1960, 1, 1), None, dt.datetime(2024, 1, 1)], pa.timestamp("ns", "Europe/Berlin")
            ),
            "c": pa.array(["x", "y", None]).dictionary_encode(),
            "u": pa.array([1, 2, 3], pa.uint8()),
            "unread": [1.0, 2.0, 3.0],
        }
    )
    pq.write_table(table, tmp_path / "x.parquet")
    found = open_source(f"file://{tmp_path}/x.parquet", None, {}, {})
    assert str(found.schema) == "(K BIGINT, ts TIMESTAMP, c STRING, u SMALLINT, unread DOUBLE)"
    schema = Schema.of([("k", pl.Int8()), ("ts", TIMESTAMP), ("c", pl.String())])
    result = read(open_source(f"file://{tmp_path}/x.parquet", schema, {}, {}))
    assert result.rows == [(1, dt.datetime(1960, 1, 1), "x"), (2, None, "y")]
    assert result.rejected[0][1] == "column k: 300 can't be read as TINYINT"


def test_parquet_of_many_row_groups_is_whole_in_order_and_can_be_left_early(tmp_path, read):
    frame = pl.DataFrame({"i": range(300_000)})
    frame.write_parquet(tmp_path / "x.parquet", row_group_size=70_000)
    source = open_source(f"file://{tmp_path}/x.parquet", None, {}, {})
    result = read(source)
    assert result.frame.equals(frame)
    assert max(result.sizes) <= REPLAY_ROWS
    request = Request()
    chunks = source.read(request)
    first = next(chunks)
    request.stop.set()
    assert list(chunks) == []
    assert first.frame["i"][0] == 0


def test_a_damaged_parquet_file_is_told_without_a_traceback_of_ours(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(SourceError, match="can't be read as Parquet"):
        open_source(f"file://{tmp_path}/x.parquet", None, {}, {})


def test_a_type_no_value_can_have_is_refused_at_once(tmp_path):
    pl.DataFrame({"l": [[1]], "n": [1]}).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(SourceError, match=r"ARRAY<BIGINT>, which can't be read as INT"):
        open_source(f"file://{tmp_path}/x.parquet", Schema.of([("l", pl.Int32())]), {}, {})
    with pytest.raises(SourceError, match="timestamp_unit"):
        open_source(f"file://{tmp_path}/x.parquet", Schema.of([("n", TIMESTAMP)]), {}, {})


def test_reads_of_one_source_side_by_side_do_not_meet(tmp_path):
    (tmp_path / "x.csv").write_text("v\n" + "".join(f"{i}\n" for i in range(200_000)))
    source = open_source(f"file://{tmp_path}/x.csv", None, {}, {})
    one, two = source.read(Request()), source.read(Request())
    left, right = [next(one).frame], [next(two).frame]
    left += [c.frame for c in one]
    right += [c.frame for c in two]
    assert pl.concat(left).equals(pl.concat(right))
    assert pl.concat(left)["v"].to_list() == list(range(200_000))


def test_what_pandas_wrote_with_missing_whole_numbers_is_read_as_whole_numbers(tmp_path, read):
    path: Path = tmp_path / "x.csv"
    pd.DataFrame({"n": [1, None, 3]}).to_csv(path, index=False)
    assert read(open_source(f"file://{path}", Schema.of([("n", pl.Int64())]), {}, {})).rows == [(1,), (None,), (3,)]
