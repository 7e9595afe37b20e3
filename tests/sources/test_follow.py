from __future__ import annotations

import datetime as dt
import gzip
import os
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest

from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.session.session import Session
from jupyter_stream.sources import Chunk, Request, open_source
from jupyter_stream.sources.file import FollowedFiles
from jupyter_stream.sources.follow import Tail
from jupyter_stream.sources.paths import matching
from jupyter_stream.sources.protocol import Journaled
from tests.tiers import slow
from tests.waiting import until

NUMBERS = Schema.of([("v", pl.Int64())])
FOLLOW = {"follow": "true"}


class Follower:
    """A read that goes on in a thread while a test writes."""

    def __init__(self, uri: str, schema: Schema | None = None, journal: Path | None = None, **options: str) -> None:
        self.source: Any = open_source(uri, schema, {**FOLLOW, **options}, {})
        self.journal = journal
        self.request = Request()
        self.values: list[object] = []
        self.rejected: list[tuple[str, str]] = []
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            read, journal = self.source.read, self.journal
            for chunk in read(self.request) if journal is None else self.source.read_again(self.request, journal):
                self.rejected += chunk.rejected.rows() if chunk.rejected is not None else []
                self.values += chunk.frame["v"].to_list()  # last, for it is waited for
        except BaseException as error:
            self.error = error

    def until(self, condition: Callable[[Follower], bool]) -> None:
        until(lambda: condition(self) or self.error is not None, lambda: f"{self.values} {self.rejected}")
        assert self.error is None

    def sees(self, *values: object) -> None:
        self.until(lambda f: f.values == list(values))


@contextmanager
def following(
    uri: str, schema: Schema | None = None, journal: Path | None = None, **options: str
) -> Iterator[Follower]:
    follower = Follower(uri, schema, journal, **options)
    try:
        yield follower
    finally:
        follower.request.stop.set()
        follower.thread.join(200)
        assert not follower.thread.is_alive()


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_lines_are_read_as_they_are_written_and_a_partial_line_waits(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"v":1}\n{"v":')
    with following(f"file://{path}", NUMBERS) as f:
        f.sees(1)
        append(path, "2}\n")
        f.sees(1, 2)
        append(path, '{"v":"x"}\n{"v":3}\n')
        f.sees(1, 2, 3)
        assert f.rejected == [('{"v":"x"}', "column v: 'x' can't be read as BIGINT (x.jsonl, line 3)")]
        assert not f.source.replayable


def test_csv_without_any_line_yet_waits_for_its_header(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("")
    with following(f"file://{path}", NUMBERS) as f:
        append(path, "w,")
        append(path, "v\n9,1\n")
        f.sees(1)
        append(path, '"multi\nline",')
        append(path, "2\n9,3\n")
        f.sees(1, 2, 3)


def test_a_truncated_file_starts_anew(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("v\n1\n2\n")
    with following(f"file://{path}") as f:
        f.sees(1, 2)
        path.write_text("")
        time.sleep(0.2)
        append(path, "v\n3\n")
        f.sees(1, 2, 3)


def test_rotation_loses_and_repeats_nothing(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("v\n1\n")
    with following(f"file://{tmp_path}/x.csv*", format="csv") as f:
        f.sees(1)
        with path.open("a") as still_open:
            path.rename(tmp_path / "x.csv.1")
            path.write_text("v\n10\n")
            still_open.write("2\n")
        f.until(lambda f: sorted(f.values) == [1, 2, 10])
        append(path, "11\n")
        f.until(lambda f: sorted(f.values) == [1, 2, 10, 11])


def unseen(change: Callable[[], object]) -> None:
    """Have something done between two looks at the files, so that none falls into the middle of it."""
    done = threading.Event()

    def listed(text: str) -> list[Path]:
        if not done.is_set():
            change()
            done.set()
        return matching(text)

    with patch("jupyter_stream.sources.follow.matching", listed):
        until(done.is_set)


@pytest.fixture
def while_listed(monkeypatch) -> list[Callable[[], object]]:
    """What is put in here is done once, between the next listing of a folder and the look at its files."""
    waiting: list[Callable[[], object]] = []

    def listed_first(text: str) -> list[Path]:
        found = matching(text)
        while waiting:
            waiting.pop()()
        return found

    monkeypatch.setattr("jupyter_stream.sources.follow.matching", listed_first)
    return waiting


def test_files_renamed_while_their_folder_is_listed_are_neither_lost_nor_repeated(tmp_path, while_listed):
    (tmp_path / "a.csv").write_text("v\n1\n")
    pl.DataFrame({"v": [10]}).write_parquet(tmp_path / "b.parquet")

    def rename() -> None:
        for name in ("a.csv", "b.parquet"):
            (tmp_path / name).rename(tmp_path / f"old-{name}")

    with following(f"file://{tmp_path}", NUMBERS) as f:
        f.sees(1, 10)
        while_listed.append(rename)
        f.until(lambda _: not while_listed)
        append(tmp_path / "old-a.csv", "2\n")
        f.sees(1, 10, 2)
        append(tmp_path / "old-a.csv", "3\n")
        f.sees(1, 10, 2, 3)


def test_a_whole_file_that_is_renamed_before_it_is_read_is_read(tmp_path, monkeypatch):
    pl.DataFrame({"v": [1]}).write_parquet(tmp_path / "a.parquet")
    os.utime(tmp_path / "a.parquet", (1, 1))  # nobody is writing it
    read = FollowedFiles._whole

    def renamed_first(self: FollowedFiles, path: Path, *how: Any) -> Iterator[Chunk]:
        if path.name == "a.parquet":
            path.rename(tmp_path / "b.parquet")
        return read(self, path, *how)

    monkeypatch.setattr(FollowedFiles, "_whole", renamed_first)
    with following(f"file://{tmp_path}", NUMBERS) as f:
        f.sees(1)
        assert f.rejected == []


def test_a_new_whole_file_is_read_though_it_has_the_inode_of_one_that_was_deleted(tmp_path):
    pl.DataFrame({"v": [1]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"v": [2, 3]}).write_parquet(tmp_path / "ready")
    with following(f"file://{tmp_path}", NUMBERS) as f:
        f.sees(1)
        # some file systems give a new file the inode that is free now; this is one on all of them
        (tmp_path / "a.parquet").write_bytes((tmp_path / "ready").read_bytes())
        (tmp_path / "a.parquet").rename(tmp_path / "b.parquet")
        f.sees(1, 2, 3)


def test_what_was_written_to_a_file_renamed_away_still_counts(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("v\n1\n")
    with following(f"file://{path}") as f:
        f.sees(1)
        with path.open("a") as file:
            file.write("2\n3")
            file.flush()
            path.replace(tmp_path / "old")
            path.write_text("v\n4\n")
        f.until(lambda f: sorted(f.values) == [1, 2, 3, 4])


def test_new_files_of_a_folder_are_followed_too(tmp_path):
    with following(f"file://{tmp_path}", NUMBERS) as f:
        (tmp_path / "a.csv").write_text("v\n1\n")
        f.sees(1)
        (tmp_path / "b.jsonl").write_text('{"v":2}\n')
        f.sees(1, 2)
        append(tmp_path / "a.csv", "3\n")
        f.sees(1, 2, 3)


def test_parquet_files_of_a_followed_folder_are_read_once_they_are_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "jupyter_stream.sources.follow._PATIENCE", 1e9
    )  # half a file for so long that it passes for a bad one
    pl.DataFrame({"v": [1]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"v": [2]}).write_parquet(tmp_path / "ready")
    with following(f"file://{tmp_path}/*.parquet") as f:
        f.sees(1)
        content = (tmp_path / "ready").read_bytes()
        with (tmp_path / "b.parquet").open("wb") as file:
            file.write(content[:50])
            file.flush()
            time.sleep(0.2)
            file.write(content[50:])
        f.sees(1, 2)


def test_more_files_than_may_be_open_are_still_followed(tmp_path, monkeypatch):
    monkeypatch.setattr("jupyter_stream.sources.follow._OPEN_FILES", 2)
    for i in range(6):
        (tmp_path / f"{i}.csv").write_text(f"v\n{i}\n")
    with following(f"file://{tmp_path}") as f:
        f.sees(0, 1, 2, 3, 4, 5)
        append(tmp_path / "0.csv", "10\n")
        append(tmp_path / "5.csv", "15\n")
        f.until(lambda f: sorted(f.values) == [0, 1, 2, 3, 4, 5, 10, 15])


def test_a_file_to_follow_must_be_there_and_a_folder_may_be_empty(tmp_path):
    with pytest.raises(SourceError, match="No file matches"):
        open_source(f"file://{tmp_path}/x.csv", NUMBERS, FOLLOW, {})
    with pytest.raises(SourceError, match="its columns are not known"):
        open_source(f"file://{tmp_path}/*.csv", None, FOLLOW, {})
    assert open_source(f"file://{tmp_path}/*.csv", NUMBERS, FOLLOW, {}).schema == NUMBERS


def test_files_are_read_again_in_the_order_they_had_and_then_on(tmp_path):
    """Lines of several files by turns, half a line, a file renamed away, a new one, one that is read when it is whole."""
    folder, journal = tmp_path / "in", tmp_path / "read"
    folder.mkdir()
    a, b = folder / "a.csv", folder / "b.csv"
    a.write_bytes(b"\xef\xbb\xbfw,v\n9,1\n")
    b.write_text("v\n")
    with following(f"file://{folder}", NUMBERS, journal) as f:
        assert isinstance(f.source, Journaled)
        f.sees(1)
        append(b, "2\nx\n3\n4")
        f.sees(1, 2, 3)
        append(a, '"multi\nline",5\n')
        f.sees(1, 2, 3, 5)
        pl.DataFrame({"v": [6, 7]}).write_parquet(folder / "c.parquet")
        f.sees(1, 2, 3, 5, 6, 7)
        rejected = f.rejected
        assert rejected == [("x", "column v: 'x' can't be read as BIGINT (b.csv, line 3)")]
    append(b, "0\n")
    append(a, "9,8\n")
    a.rename(folder / "old-a.csv")
    (folder / "d.csv").write_text("v\n11\n")
    with journal.open("a") as file:
        file.write('["text", "/some')  # a note that was being written when the reader was killed
    for _ in range(2):
        with following(f"file://{folder}", NUMBERS, journal) as f:
            f.until(lambda f: len(f.values) == 9)
            assert f.values == [1, 2, 3, 5, 6, 7, 40, 11, 8]
            assert f.rejected == rejected


def test_lines_of_a_file_renamed_out_of_the_pattern_are_read_again(tmp_path):
    path, journal = tmp_path / "x.jsonl", tmp_path / "read"
    path.write_text('{"v":1}\n')
    with following(f"file://{path}", NUMBERS, journal) as f:
        f.sees(1)
        append(path, '{"v":2}\n{"v":3}')
        path.rename(tmp_path / "x.jsonl.1")
        path.write_text('{"v":4}\n')
        f.until(lambda f: len(f.values) == 4)
        before = f.values
    with following(f"file://{path}", NUMBERS, journal) as f:
        f.sees(*before)
        append(path, '{"v":5}\n')
        f.sees(*before, 5)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda path: path.unlink(), "it is no longer there"),
        (lambda path: path.write_text("v\n1\n"), "8 bytes of it were read, and it has 4"),
        (lambda path: path.write_text("v\n1\n5\n3\n"), "its first 8 bytes are not the same as when they were read"),
    ],
)
def test_lines_that_were_read_before_and_are_gone_end_the_read(tmp_path, change, says):
    path, journal = tmp_path / "in" / "x.csv", tmp_path / "read"
    path.parent.mkdir()
    path.write_text("v\n1\n2\n3\n")
    with following(f"file://{path.parent}", NUMBERS, journal) as f:
        f.sees(1, 2, 3)
    change(path)
    source: Any = open_source(f"file://{path.parent}", NUMBERS, FOLLOW, {})
    with pytest.raises(SourceError, match=says) as error:
        list(source.read_again(Request(), journal))
    assert "another checkpoint" in str(error.value)
    journal.write_text("precious\n")
    with pytest.raises(SourceError, match="doesn't say which files were read"):
        list(source.read_again(Request(), journal))


def test_a_file_that_could_not_be_read_is_told_of_again(tmp_path):
    folder, journal = tmp_path / "in", tmp_path / "read"
    folder.mkdir()
    pl.DataFrame({"v": [6]}).write_parquet(folder / "a.parquet")
    (folder / "b.parquet").write_text("none")
    os.utime(folder / "b.parquet", (1, 1))
    with following(f"file://{folder}", NUMBERS, journal) as f:
        f.until(lambda f: len(f.rejected) == 1)
        told = f.rejected
    with following(f"file://{folder}", NUMBERS, journal) as f:  # it is there still, and told of once
        (folder / "c.csv").write_text("v\n5\n")
        f.sees(6, 5)
        assert f.rejected == told
    (folder / "b.parquet").unlink()
    with following(f"file://{folder}", NUMBERS, journal) as f:
        f.until(lambda f: len(f.rejected) == 1)
        f.sees(6, 5)
        assert f.rejected == told
    pl.DataFrame({"v": [7]}).write_parquet(folder / "a.parquet")
    source: Any = open_source(f"file://{folder}", NUMBERS, FOLLOW, {})
    with pytest.raises(SourceError, match="it has been written to since"):
        list(source.read_again(Request(), journal))


def test_how_a_file_spells_a_column_does_not_depend_on_when_its_lines_came(tmp_path):
    at_once, by_turns = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    lines = ['{"V":1}\n', '{"v":2}\n', '{"V":3,"v":4}\n']
    at_once.write_text("".join(lines))
    by_turns.write_text(lines[0])
    with following(f"file://{at_once}", NUMBERS) as whole, following(f"file://{by_turns}", NUMBERS) as f:
        whole.sees(1, 2, 3)
        f.sees(1)
        append(by_turns, lines[1])
        f.sees(1, 2)
        append(by_turns, lines[2])
        f.sees(1, 2, 3)


@slow
def test_the_clock_speaks_for_a_silent_file_only_once_what_is_there_has_been_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or rows would be late because the machine is slow."""
    look, looked = Tail.look, threading.Event()

    def slowly(tail: Tail) -> Iterator[Chunk]:
        if not looked.is_set():
            time.sleep(0.5)
            looked.set()
        yield from look(tail)

    monkeypatch.setattr(Tail, "look", slowly)
    begun = dt.datetime.now(dt.UTC).replace(tzinfo=None)
    (tmp_path / "now.csv").write_text(f"n,ts\n1,{begun.isoformat()}\n")
    options = "follow = 'true', format = 'csv', idle_timeout = '100 milliseconds'"
    with Session() as session:
        session.run(
            f"CREATE STREAM s (n INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://{tmp_path}/now.csv' WITH ({options})"
        )
        query: Any = session.run("SELECT count(*) AS c FROM s [RANGE 100 MILLISECONDS TUMBLING]")[-1]
        until(lambda: query.late.height or query.to_polars().height)
        assert query.to_polars()["c"].sum() == 1 and not query.late.height


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "cp1252"])
def test_a_followed_file_may_be_in_any_encoding_and_end_within_a_letter(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"")
    schema = Schema.of([("v", pl.String())])
    options = {"encoding": "cp1252"} if encoding == "cp1252" else {}
    data = "v\r\nä\r\nöb\r\n".encode(encoding)
    with following(f"file://{path}", schema, **options) as follower:
        for i, byte in enumerate(data):
            with path.open("ab") as file:
                file.write(bytes([byte]))
            if i % 3 == 0:
                follower.request.caught_up.wait(0.01)
        follower.sees("ä", "öb")
        append_again = "é\r\n".encode(encoding.replace("utf-16", "utf-16-le").replace("-sig", ""))
        with path.open("ab") as file:
            file.write(append_again)
        follower.sees("ä", "öb", "é")
    assert follower.rejected == []


def test_a_followed_file_that_was_packed_and_broke_off_is_read_as_far_as_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_stream.sources.follow._PATIENCE", 0.0)
    whole = gzip.compress(b"v\n1\n2\n34\n", mtime=0)
    there = [n for n in range(len(whole)) if zlib.decompressobj(31).decompress(whole[:n]) == b"v\n1\n2\n3"]
    (tmp_path / "a.csv.gz").write_bytes(whole[: there[0]])
    with following(f"file://{tmp_path}", Schema.of([("v", pl.Int64())])) as follower:
        follower.sees(1, 2)
        follower.until(lambda f: len(f.rejected) == 2)
        (tmp_path / "b.csv.gz").write_bytes(whole)
        follower.sees(1, 2, 1, 2, 34)
    assert "damaged" in follower.rejected[1][1] and "missing" in follower.rejected[0][1]
