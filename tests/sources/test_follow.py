from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources import Request, open_source

NUMBERS = Schema.of([("v", pl.Int64())])
FOLLOW = {"follow": "true"}


class Follower:
    """A read that goes on in a thread while a test writes."""

    def __init__(self, uri: str, schema: Schema | None = None, **options: str) -> None:
        self.source = open_source(uri, schema, {**FOLLOW, **options}, {})
        self.request = Request()
        self.values: list[object] = []
        self.rejected: list[tuple[str, str]] = []
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            for chunk in self.source.read(self.request):
                self.values += chunk.frame["v"].to_list()
                self.rejected += chunk.rejected.rows() if chunk.rejected is not None else []
        except BaseException as error:
            self.error = error

    def until(self, condition: Callable[[Follower], bool]) -> None:
        for _ in range(400):
            if condition(self) or self.error is not None:
                break
            time.sleep(0.02)
        assert self.error is None
        assert condition(self), f"{self.values} {self.rejected}"

    def sees(self, *values: object) -> None:
        self.until(lambda f: f.values == list(values))


@contextmanager
def following(uri: str, schema: Schema | None = None, **options: str) -> Iterator[Follower]:
    follower = Follower(uri, schema, **options)
    try:
        yield follower
    finally:
        follower.request.stop.set()
        follower.thread.join(5)
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
        assert f.rejected == [('{"v":"x"}', "column v: 'x' is no BIGINT (x.jsonl, line 3)")]
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


def test_parquet_files_of_a_followed_folder_are_read_once_they_are_whole(tmp_path):
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
