"""Files that can't be read for a while, are written anew, or hold what no program should have written: told, and read on."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from jupyter_stream.core.schema import Schema
from jupyter_stream.sources import open_source
from jupyter_stream.sources import text as text_files
from jupyter_stream.sources.json_array import ArrayItems
from jupyter_stream.sources.protocol import Request
from tests.tiers import slow

from .test_follow import NUMBERS, append, following, unseen

TEXT = Schema.of([("v", pl.String())])
CLOSED = """
import os, sys
sys.path[:0] = {path!r}
from pathlib import Path
from tests.sources.test_follow import NUMBERS, append, following, unseen
folder = Path({folder!r})
with following(f"file://{{folder}}", NUMBERS) as f:
    f.sees(1)
    (folder / "a.jsonl").chmod(0o000)
    (folder / "a.jsonl").rename(folder / "b.jsonl")
    (folder / "c.jsonl").write_text('{{"v":2}}\\n')
    never_read = os.open(folder / "d.jsonl", os.O_CREAT | os.O_WRONLY, 0o000)
    os.write(never_read, b'{{"v":3}}\\n')
    os.close(never_read)
    f.until(lambda f: 2 in f.values and any("Permission denied" in reason for _, reason in f.rejected))
    (folder / "d.jsonl").chmod(0o600)
    (folder / "b.jsonl").chmod(0o600)
    append(folder / "b.jsonl", '{{"v":4}}\\n')
    f.until(lambda f: sorted(f.values) == [1, 2, 3, 4])
    unseen(lambda: folder.chmod(0o000))
    f.until(lambda f: any("Permission denied" in reason and str(folder) == raw for raw, reason in f.rejected))
    folder.chmod(0o700)
    append(folder / "c.jsonl", '{{"v":5}}\\n')
    f.until(lambda f: 5 in f.values)
    told = [raw for raw, _ in f.rejected]
    assert len(told) == len(set(told)) and {{str(folder), str(folder / "d.jsonl")}} <= set(told), f.rejected
"""


@slow
def test_a_file_or_folder_that_may_not_be_read_for_a_while_is_read_when_it_may(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"v":1}\n')
    code = CLOSED.format(path=[p or str(Path.cwd()) for p in sys.path], folder=str(tmp_path))
    # root may read what it likes, but for what it gives up
    plain = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--"] if os.getuid() == 0 else []
    done = subprocess.run([*plain, sys.executable, "-c", code], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr


def test_a_file_that_fails_while_it_is_read_is_told_of_and_the_others_go_on(tmp_path):
    (tmp_path / "bad.jsonl").symlink_to("/proc/self/mem")  # it can be opened, and fails to be read
    (tmp_path / "good.jsonl").write_text('{"v":1}\n')
    with following(f"file://{tmp_path}", NUMBERS) as f:
        f.sees(1)
        append(tmp_path / "good.jsonl", '{"v":2}\n')
        f.sees(1, 2)
        assert [r for r, _ in f.rejected] == [str(tmp_path / "bad.jsonl")]
        assert "Input/output error; it is read when it can be" in f.rejected[0][1]


@pytest.mark.parametrize("new", ['{"v":5}\n', '{"v":5}\n{"v":6}\n{"v":7}\n', '{"v":1}\n{"v":9}\n'])
def test_a_file_written_anew_in_its_place_is_read_from_its_beginning(tmp_path, new):
    path = tmp_path / "x.jsonl"
    path.write_text('{"v":1}\n{"v":2}\n')
    with following(f"file://{path}", NUMBERS) as f:
        f.sees(1, 2)
        unseen(lambda: path.write_text(new))  # shorter, longer and as long as before
        f.sees(1, 2, *(json.loads(line)["v"] for line in new.splitlines()))
        assert len(f.rejected) == 1 and "written anew while it was followed" in f.rejected[0][1]


def test_a_line_left_without_its_newline_counts_when_its_file_is_written_anew(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"v":1}\n{"v":2}')
    with following(f"file://{path}", NUMBERS) as f:
        f.sees(1)
        unseen(lambda: path.write_text('{"v":3}\n'))
        f.sees(1, 2, 3)


@pytest.mark.parametrize("follow", [False, True])
def test_a_file_that_is_one_array_is_read_item_by_item(tmp_path, follow):
    path = tmp_path / "x.json"
    path.write_text('[{"v": 1},\n {"v": "x", "w": [1, {"a": "]}"}]},\n {bad},\n {"v": 3}')
    if not follow:
        append(path, "]\n")
        chunks = list(open_source(f"file://{path}", NUMBERS, {}, {}).read(Request()))
        assert [v for c in chunks for v in c.frame["v"]] == [1, 3]
        told = [r for c in chunks if c.rejected is not None for r in c.rejected["reason"]]
        assert {"2", "3"} == {reason.partition("(x.json, item ")[2].rstrip(")") for reason in told}
        return
    with following(f"file://{path}", NUMBERS) as f:
        f.until(lambda f: f.values[:1] == [1])
        append(path, ',\n{"v": 4}, {"v"')
        f.sees(1, 3, 4)
        append(path, ": 5}\n]\n")
        f.sees(1, 3, 4, 5)
        assert len(f.rejected) == 2


@pytest.mark.parametrize("step", [1, 2, 3, 7])
def test_an_array_is_cut_alike_wherever_its_bytes_are_cut(step):
    data = b'\n[{"a": "\\\\\\"]},{"}, {"b": [1, 2, {"c": null}]} ,3,\t"x,y", {"d": "\xc3\xa9"}]\n'
    whole, pieces, rest = ArrayItems().lines(data), b"", b""
    items = ArrayItems()
    for start in range(0, len(data), step):
        rest += data[start : start + step]
        end = items.cut(rest)
        pieces += items.lines(rest[:end]) if end else b""
        rest = rest[end:]
    assert pieces + (items.lines(rest) if rest else b"") == whole and whole.count(b"\n") == 5


@pytest.mark.parametrize("size", [1 << 18, (1 << 16) + 1])
@pytest.mark.parametrize("kind", ["x.jsonl", "x.csv", "x.jsonl.gz"])
def test_a_record_that_is_too_long_is_skipped_and_told(tmp_path, monkeypatch, kind, size):
    monkeypatch.setattr(text_files, "LONGEST", 1 << 16)
    monkeypatch.setattr(text_files, "BLOCK", 1 << 12)
    long = "y" * size
    lines = {"x.csv": f"v\na\n{long}\nb\n"}.get(kind, f'{{"v":"a"}}\n{{"v":"{long}"}}\n{{"v":"b"}}\n')
    path = tmp_path / kind
    path.write_bytes(gzip.compress(lines.encode()) if kind.endswith(".gz") else lines.encode())
    chunks = list(open_source(f"file://{path}", TEXT, {}, {}).read(Request()))
    assert [v for c in chunks for v in c.frame["v"]] == ["a", "b"]
    ((raw, reason),) = [row for c in chunks if c.rejected is not None for row in c.rejected.rows()]
    assert len(raw) < 1100 and "too long" not in raw
    number = 3 if kind == "x.csv" else 2
    assert reason.startswith("a record of more than") and f"({kind}, line {number})" in reason


def test_the_longest_record_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "LONGEST", 1 << 16)
    monkeypatch.setattr(text_files, "BLOCK", 1 << 12)
    path = tmp_path / "x.csv"
    path.write_text(f"v\n{'y' * (1 << 16)}\n{'z' * (1 << 16)}y\nb\n")
    chunks = list(open_source(f"file://{path}", TEXT, {}, {}).read(Request()))
    assert [len(v) for c in chunks for v in c.frame["v"]] == [1 << 16, 1]
    assert sum(c.rejected.height for c in chunks if c.rejected is not None) == 1


@slow
def test_a_bomb_of_one_long_line_takes_little_memory(tmp_path):
    path = tmp_path / "bomb.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"v":"')
        for _ in range(100):
            file.write(b"0" * (1 << 20))
        file.write(b'"}\n{"v":"after"}\n')
    code = f"""
import resource
from jupyter_stream.core.schema import Schema
from jupyter_stream.sources import open_source
from jupyter_stream.sources.protocol import Request
import polars as pl
source = open_source("file://{path}", Schema.of([("v", pl.String())]), {{}}, {{}})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rows = [v for c in source.read(Request()) for v in c.frame["v"]]
assert rows == ["after"], rows
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 250  # megabytes; the line alone has 100, and took 1,600


def test_bytes_that_are_no_utf8_in_parquet_and_frames_are_rows_of_errors(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    words = pa.array([b"fine", b"\xff\xfe", None])
    torn = pa.Array.from_buffers(pa.string(), 3, [None, *pa.array([b"a", b"\xff", b"c"]).buffers()[1:]])
    for number, column in enumerate((words, torn)):
        path: Path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"v": column}), path)
        frame = pa.table({"v": column})
        for uri in (f"file://{path}", "frame://frame"):
            chunks = list(open_source(uri, TEXT, {}, {"frame": frame}).read(Request()))
            rows = [v for c in chunks for v in c.frame["v"]]
            told = [r for c in chunks if c.rejected is not None for r in c.rejected["reason"]]
            assert rows == (["fine", None], ["a", "c"])[number], uri
            assert len(told) == 1 and "UTF-8" in told[0], (uri, told)


RULES = {
    # lines, the rows of v, and what the reasons of those refused say
    "half a character": ([r'{"v":"\ud800"}', r'{"v":"\ude00\ud83d"}', r'{"v":"\ud83d\ude00"}', r'{"v":"\\ud800"}'],
                         ["\U0001f600", "\\ud800"], ["half a character"] * 2),
    "a key that appears twice": (['{"v":"first","v":"second"}', "no", '{"v":"a","v":"b"}'], ["first", "a"], ["not JSON"]),
    "keys in another case": (['{"v":"a"}', '{"V":"b"}', '{"V":"no","v":"c"}', '{"w":1}'], ["a", "b", "c", None], []),
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_one_rule_says_what_becomes_of(tmp_path, rule):
    lines, values, told = RULES[rule]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(lines) + "\n")
    chunks = list(open_source(f"file://{path}", TEXT, {}, {}).read(Request()))
    assert [v for c in chunks for v in c.frame["v"]] == values
    reasons = [r for c in chunks if c.rejected is not None for r in c.rejected["reason"]]
    assert len(reasons) == len(told) and all(word in r for word, r in zip(told, reasons, strict=True)), reasons


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_times_of_years_that_no_calendar_has_are_refused_and_every_bad_line_is_told(tmp_path, form):
    schema = Schema.of([("t", pl.Datetime("us")), ("d", pl.Date())])
    days = ["0000-12-31", "10000-01-01", "-0044-03-15", "0001-01-01", "9999-12-31"]
    rows = [(day, "2026-01-01") for day in days] + [("2026-01-01", day) for day in days] + [("x", "y")] * 1590
    lines = ["t,d", *(f"{t},{d}" for t, d in rows)]
    if form == "jsonl":
        lines = [json.dumps({"t": t, "d": d}) for t, d in rows]
    path = tmp_path / f"x.{form}"
    path.write_text("\n".join(lines) + "\n")
    chunks = list(open_source(f"file://{path}", schema, {}, {}).read(Request()))
    assert [str(t)[:10] for c in chunks for t in c.frame["t"]] == [
        "0001-01-01",
        "9999-12-31",
        "2026-01-01",
        "2026-01-01",
    ]
    assert sum(c.rejected.height for c in chunks if c.rejected is not None) == 6 + 1590


def test_numbers_that_count_past_the_calendar_are_refused(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"t":253402300799}\n{"t":253402300800}\n{"t":-62135596800}\n{"t":-62135596801}\n')
    schema = Schema.of([("t", pl.Datetime("us"))])
    (chunk,) = open_source(f"file://{path}", schema, {"timestamp_unit": "s"}, {}).read(Request())
    assert [t.year for t in chunk.frame["t"]] == [9999, 1] and chunk.rejected is not None
    assert chunk.rejected.height == 2
    assert all("beyond the years 1 to 9999" in reason for reason in chunk.rejected["reason"])
