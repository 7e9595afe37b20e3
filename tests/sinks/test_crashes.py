"""What is there after a crash: whole files only, and a commit that was begun is finished by the same writer."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import duckdb
import polars as pl
import pytest
from deltalake import DeltaTable, write_deltalake

from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import SinkError
from jupyter_stream.sinks.delta import DeltaSink
from jupyter_stream.sinks.duckdb import DuckdbSink
from jupyter_stream.sinks.file import FileSink
from jupyter_stream.sinks.protocol import SinkUnreachable, Target
from tests.sinks.reading import files, parquet
from tests.tiers import slow, thinned
from tests.waiting import until

ROWS = pl.DataFrame({"day": ["mon", "tue", "tue"], "n": [1, 2, 3]})
ENDLESS = """
import itertools, polars as pl
from jupyter_stream import Session
rows = ({"ts": i, "n": i} for i in itertools.count())
session = Session({"rows": rows})
session.execute("CREATE STREAM s (ts BIGINT, n BIGINT) ORDER BY ts SOURCE 'python://rows'")
(q,) = session.execute("INSERT INTO 'file://out/' WITH (commit_every = '1 ms', partition_by = 'm') "
                       "SELECT n, n % 3 AS m FROM s")
q.wait()
"""


def sink(at: Path, writer: str = "w") -> FileSink:
    options = {"partition_by": "day"}
    return FileSink(Target(f"file://{at}/", Schema.from_frame(ROWS), "append", (), False, options, {}, writer))


@slow
def test_a_kill_in_the_middle_leaves_only_whole_files(tmp_path: Path) -> None:
    writing = subprocess.Popen([sys.executable, "-c", ENDLESS], cwd=tmp_path)
    try:
        until(lambda: len(files(tmp_path, "*.parquet")) > 20 or writing.poll() is not None)
    finally:
        writing.send_signal(signal.SIGKILL)
        writing.wait()
    found = files(tmp_path)
    assert len(found) > 20 and all(p.suffix == ".parquet" and p.parent.name.startswith("m=") for p in found)
    rows = pl.concat(pl.read_parquet(p) for p in found)
    assert rows["n"].is_unique().all()


@pytest.mark.parametrize("renamed", [0, 1])
def test_a_commit_that_was_begun_is_finished_by_the_same_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renamed: int
) -> None:
    first, name = sink(tmp_path), FileSink._name

    def killed(self: FileSink, pairs: list[tuple[str, str]]) -> None:
        name(self, pairs[:renamed])
        raise KeyboardInterrupt

    first.append(ROWS)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(FileSink, "_name", killed)
        first.commit(1, "at 3")
    assert len(files(tmp_path)) == renamed
    again = sink(tmp_path)
    assert again.committed() == (1, "at 3")
    again.append(ROWS.clear())
    again.commit(2, "at 3")
    assert len(files(tmp_path)) == 2 and sorted(parquet(tmp_path)["n"]) == [1, 2, 3]


@pytest.mark.parametrize("stopped", [FileSink.abort, FileSink.close])
def test_a_commit_that_failed_halfway_is_finished_though_it_was_aborted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped: Callable[[FileSink], None]
) -> None:
    first = sink(tmp_path)
    first.append(ROWS)
    with monkeypatch.context() as patch, pytest.raises(SinkUnreachable, match="No space left"):
        patch.setattr(Path, "mkdir", full(Path.mkdir, "day=tue"))
        first.commit(1, "at 3")
    stopped(first)
    assert len(files(tmp_path)) == 1
    again = sink(tmp_path)  # the former one was killed before its next try
    assert again.committed() == (1, "at 3")
    again.commit(1, "at 3")
    assert sorted(parquet(tmp_path)["n"]) == [1, 2, 3] and not list(tmp_path.rglob("*.part"))


def full(mkdir: Callable[..., None], name: str) -> Callable[..., None]:
    """`Path.mkdir` on a disk that is full before a folder of that name is made."""

    def fails(self: Path, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        if self.name == name:
            raise OSError(errno.ENOSPC, "No space left on device")
        mkdir(self, mode, parents, exist_ok)

    return fails


@pytest.mark.parametrize("retried", [False, True])
def test_files_written_elsewhere_outlive_a_commit_that_failed_halfway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retried: bool
) -> None:
    first = sink(tmp_path)
    apart = first.apart()
    assert apart is not None
    pieces = apart.written_apart(ROWS, "a")
    first.adopt(pieces)
    with monkeypatch.context() as patch, pytest.raises(SinkUnreachable):
        patch.setattr(Path, "mkdir", full(Path.mkdir, "day=tue"))
        first.commit(1, "0")
    first.abort()
    if retried:
        first.adopt(pieces)
        first.commit(1, "0")
    else:
        first.close()
        again = sink(tmp_path)
        again.apart()
        again.commit(1, "0")
    assert sorted(parquet(tmp_path)["n"]) == [1, 2, 3] and not list(tmp_path.rglob("*.piece"))


@pytest.mark.parametrize("torn", [b"", b"\0" * 40, b"\xff\xfe", b'{"number": 1, "position": "at 3", "fi'])
def test_a_torn_note_is_none_and_its_rows_come_again(tmp_path: Path, torn: bytes) -> None:
    sink(tmp_path).append(ROWS)
    (tmp_path / ".w.commit").write_bytes(torn)
    again = sink(tmp_path)
    assert again.committed() is None
    again.append(ROWS)
    again.commit(1, "at 3")
    again.close()
    assert again.committed() == (1, "at 3")
    assert sorted(parquet(tmp_path)["n"]) == [1, 2, 3] and not list(tmp_path.rglob("*.part"))


def test_a_commit_is_on_disk_with_its_note_and_its_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda number: synced.append(os.fstat(number).st_ino))
    first = sink(tmp_path / "new" / "out")
    first.append(ROWS)
    first.commit(1, "at 3")
    at = tmp_path / "new" / "out"
    wanted = [tmp_path, at.parent, at, at / ".w.commit", at / "day=mon", at / "day=tue", *files(at)]
    assert {p.stat().st_ino for p in wanted} <= set(synced)
    note, whole = synced.index((at / ".w.commit").stat().st_ino), at.stat().st_ino
    assert whole in synced[:note] and whole in synced[note + 1 :]


def test_rows_that_were_being_written_when_it_was_killed_never_take_the_place_of_committed_ones(tmp_path: Path) -> None:
    first = sink(tmp_path)
    first.append(ROWS)
    first.commit(1, "at 3")
    first.append(ROWS.with_columns(n=pl.lit(9)))  # and killed
    again = sink(tmp_path)
    assert again.committed() == (1, "at 3")
    again.append(ROWS.clear())
    again.commit(1, "at 3")
    assert sorted(parquet(tmp_path)["n"]) == [1, 2, 3] and not list(tmp_path.rglob("*.part"))


def test_rows_that_were_not_committed_are_gone_and_others_are_left_alone(tmp_path: Path) -> None:
    sink(tmp_path, "other").append(ROWS)
    first = sink(tmp_path)
    first.append(ROWS)
    assert not files(tmp_path)
    again = sink(tmp_path)  # the former one was killed
    again.append(ROWS.head(1))
    again.commit(1, "at 1")
    assert parquet(tmp_path)["n"].to_list() == [1]
    assert len(list(tmp_path.glob(".other-*.part"))) == 2 and not list(tmp_path.glob(".w-*.part"))


def test_a_delta_commit_that_is_tried_again_changes_nothing(tmp_path: Path) -> None:
    def delta(writer: str) -> DeltaSink:
        target = Target(f"delta://{tmp_path}/t", Schema.from_frame(ROWS), "append", (), False, {}, {}, writer)
        return DeltaSink(target)

    first = delta("w")
    for _ in range(2):  # the answer to the first one was lost
        first.append(ROWS)
        first.commit(1, "at 3")
    assert delta("w").committed() == (1, "at 3") and delta("other").committed() is None
    first.append(ROWS)
    first.commit(2, "at 6")
    table = DeltaTable(tmp_path / "t")
    assert table.to_pyarrow_table().num_rows == 6 and table.version() == 1 and first.committed() == (2, "at 6")


def test_a_delta_table_keeps_its_schema(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "t"), ROWS.cast({"n": pl.String}).to_arrow())
    target = Target(f"delta://{tmp_path}/t", Schema.from_frame(ROWS), "append", (), False, {}, {}, "w")
    with pytest.raises(SinkError, match="the column n of the table t has another type"):
        DeltaSink(target).check()


class Failing:
    """A connection of DuckDB's that raises once, at the first statement with these words."""

    def __init__(self, inner: duckdb.DuckDBPyConnection, words: str, error: type[Exception]) -> None:
        self.inner, self.words, self.error = inner, words, error
        self.register, self.close = inner.register, inner.close

    def execute(self, statement: str, values: Sequence[object] = ()) -> duckdb.DuckDBPyConnection:
        if statement.startswith(self.words):
            raise self.error("no space left")
        return self.inner.execute(statement, list(values))


@pytest.mark.parametrize("error", [duckdb.IOException, duckdb.OutOfMemoryException, duckdb.TransactionException])
@pytest.mark.parametrize("words", thinned(["BEGIN", "INSERT INTO", 'CREATE TABLE "a"', "INSERT OR", "COMMIT"], 4))
def test_duckdb_is_tried_again_after_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, error: type[Exception]
) -> None:
    target = Target(f"duckdb://{tmp_path}/d", Schema.from_frame(ROWS), "append", (), False, {"table": "a"}, {}, "w")
    tried, connected = DuckdbSink(target), DuckdbSink._connected
    with monkeypatch.context() as patch, pytest.raises(SinkUnreachable, match="no space left"):
        patch.setattr(DuckdbSink, "_connected", lambda self: Failing(connected(self), words, error))
        tried.append(ROWS)
        tried.commit(1, "at 3")
    tried.abort()
    tried.append(ROWS)
    tried.commit(1, "at 3")
    with closing(duckdb.connect(str(tmp_path / "d"))) as connection:
        assert connection.execute("SELECT n FROM a ORDER BY n").fetchall() == [(1,), (2,), (3,)]
