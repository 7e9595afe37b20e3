"""Parquet files that Spark reads as they are: which of them, and the same answers and late rows as in the kernel."""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.core.messages import BROKEN, ROW, TS
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.session.session import Session
from jupyter_stream.spark.linked_files import LinkedFiles
from jupyter_stream.spark.spool import Spool
from tests.oracle.compare import assert_same_bag, plain_rows
from tests.oracle.search import searching
from tests.tiers import slow

START = dt.datetime(2024, 5, 1, 12)
QUERY = "SELECT k, count(*) AS c, sum(n) AS n FROM s [RANGE 20 SECONDS SLIDE 10 SECONDS] GROUP BY k"


def written(folder: Path, late: dict[int, int], count: int = 4000, files: int = 4) -> Path:
    """Files of rows a second apart; those numbered in `late` come so many seconds late."""
    times = [START + dt.timedelta(seconds=i - late.get(i, i % 3)) for i in range(count)]
    frame = pl.DataFrame(
        {"k": [str(i % 5) for i in range(count)], "n": range(count), "wide": ["x"] * count, "ts": times}
    )
    for i in range(files):
        part = frame[i * count // files : (i + 1) * count // files]
        part.with_columns(pl.col("n").cast(pl.Int32)).write_parquet(folder / f"{i}.parquet")
    return folder


def declared(folder: Path, options: str = "") -> str:
    columns = "k STRING, n INT, wide STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS"
    return f"CREATE STREAM s ({columns}) SOURCE 'file://{folder}'{options};"


@slow
def test_files_are_handed_over_and_late_rows_are_told(
    tmp_path: Path, sessions: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    handed: list[str] = []
    hand = Spool.hand

    def noted(spool: Spool, file: Path, rows: int) -> bool:
        handed.append(file.name)
        return hand(spool, file, rows)

    monkeypatch.setattr(Spool, "hand", noted)
    folder = written(tmp_path, {1500: 300, 1600: 8, 3999: 1000})
    session = sessions()
    session.run(declared(folder))
    kernel: Any = session.run(QUERY)[-1]
    assert kernel.wait(200)
    spark: Any = session.run(QUERY, engine="spark")[-1]
    assert spark.wait(200)
    assert handed == ["0.parquet", "2.parquet"]  # in the others rows are late
    for ours, theirs in ((spark.to_polars(), kernel.to_polars()), (spark.late, kernel.late)):
        assert_same_bag(plain_rows(ours), plain_rows(theirs), theirs.columns)
    assert kernel.late.height >= 2 and kernel.to_polars().height > 1000
    assert spark.snapshot().rows_in == 4000
    assert sorted(p.name for p in folder.iterdir()) == [f"{i}.parquet" for i in range(4)]


@slow
def test_a_micro_batch_takes_no_more_files_than_the_query_is_told_and_the_first_of_them(
    tmp_path: Path, sessions: Callable[..., Session]
) -> None:
    session = sessions()
    folder = written(tmp_path, {})
    for i in range(4):  # Spark would begin with the last, after which the rows of the others are late
        os.utime(folder / f"{i}.parquet", (1000 - i, 1000 - i))
    session.run(declared(folder))
    query: Any = session.run(QUERY, engine="spark", conf=["jupyter_stream.maxFilesPerTrigger=1"])[-1]
    assert query.wait(200) and query.status == "finished"
    took = [report["numInputRows"] for report in query._pipeline._job.streaming.recentProgress]
    assert [n for n in took if n > 1] == [1000] * 4  # what says that the stream has ended is a row too
    assert query.to_polars()["c"].sum() == 8000  # each row is in two extents


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (QUERY, True),
        (QUERY.replace("sum(n)", "sum(10 / n)"), False),  # a row can fail
        (QUERY.replace("sum(n)", "last(n)"), False),  # the order in which rows came matters
        (QUERY.replace("20 SECONDS SLIDE 10 SECONDS", "20 SECONDS SLIDE 1 ROW").replace("k, ", "", 1).split(" GROUP")[0], False),
    ],
)  # fmt: skip
def test_files_are_handed_over_where_nothing_but_times_matters(text: str, whole: bool, tmp_path: Path) -> None:
    from jupyter_stream.session.history import whole_files

    with Session() as session:
        session.run(declared(written(tmp_path, {}, 40)))
        query: Any = session.run(text)[-1]
        assert query.wait(200)
        from jupyter_stream.plan.logical import streams
        from jupyter_stream.spark.inlet import Inlet
        from jupyter_stream.spark.judge import paths
        from jupyter_stream.spark.preflight import runs_inside
        from jupyter_stream.spark.rewrite import normal

        bound = query._pipeline.query
        (stream,) = streams(bound.plan)
        files = whole_files(stream, bound)
        if runs_inside(bound):
            assert not whole
            return
        (way,) = paths(normal(bound.plan))
        inlet = Inlet(way, tmp_path / "rows", frozenset({"k", "n", "ts"}), files=files)
        assert (inlet.handed is not None) == whole


@searching
@given(data=st.data())
def test_any_batches_give_the_rows_that_are_left(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("files")
    sizes = data.draw(st.lists(st.integers(0, 6), min_size=1, max_size=4))
    count = sum(sizes)
    everything = pl.DataFrame(
        {"ts": range(100, 100 + count), "n": range(count)}, schema={"ts": pl.Int64, "n": pl.Int64}
    )
    files = []
    for i, size in enumerate(sizes):
        files.append((folder / f"{i}.parquet", size))
        everything[sum(sizes[:i]) : sum(sizes[:i]) + size].write_parquet(files[-1][0])
    fate = data.draw(st.lists(st.sampled_from(["kept", "kept", "late", "gone"]), min_size=count, max_size=count))
    ends = sorted(
        {*data.draw(st.lists(st.integers(1, count), max_size=4) if count else st.just([])), *([count] if count else [])}
    )
    handed = LinkedFiles(files, ["ts", "n"])
    done, start = [], 0
    for end in ends:
        numbers = [i for i in range(start, end) if fate[i] != "gone"]
        left = pl.DataFrame(
            {ROW: [i + 1 for i in numbers], TS: [100 + i for i in numbers],
             BROKEN: [500 if fate[i] == "late" else None for i in numbers]},
            schema={ROW: pl.Int64, TS: pl.Int64, BROKEN: pl.Int64},
        )  # fmt: skip
        done += handed.judged(end, left)
        start = end
    done += handed.rest()
    assert [f.path for f in done] == [path for path, size in files if size]
    found = []
    for file in done:
        numbers = range(file.first - 1, file.first - 1 + dict(files)[file.path])
        assert file.as_it_is == all(fate[i] == "kept" for i in numbers)
        frames = list(file.frames("ts"))
        assert sum(f.height for f in frames) == file.rows
        for frame in frames:
            rows = frame if BROKEN in frame.columns else frame.with_columns(pl.lit(None).alias(BROKEN))
            found += rows.select("n", ROW, TS, BROKEN).rows()
    assert found == [(i, i + 1, 100 + i, 500 if fate[i] == "late" else None) for i in range(count) if fate[i] != "gone"]


def test_files_handed_over_before_a_restart_are_not_handed_over_again(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    written(folder, {}, 40)
    files = [(folder / f"{i}.parquet", 10) for i in range(4)]
    schema = Schema((Field("n", pl.Int32()), Field("ts", pl.Datetime("us"))))

    def run(whole: int, partly: int = 0) -> Spool:
        spool = Spool(tmp_path / "rows", schema, frozenset(["n", "ts"]), again=True, handed="ts")
        for path, rows in files[:whole]:
            assert spool.hand(path, rows)
        if partly:
            rows = pl.read_parquet(files[whole][0])[:partly].select("n", "ts", pl.col("ts").cast(pl.Int64).alias(TS))
            spool.put(rows)
            time.sleep(0.2)
            spool.flush()
        return spool

    run(2, partly=4)
    again = run(2)
    assert not again.hand(*files[2])  # some of its rows are there: the others come one by one
    again.put(pl.read_parquet(files[2][0]).select("n", "ts", pl.col("ts").cast(pl.Int64).alias(TS)))
    assert again.hand(*files[3])
    again.end()
    found = [pl.read_parquet(p) for p in sorted((tmp_path / "rows").glob("*.parquet"))]
    numbers = [n for f in found if "n" in f.columns for n in f["n"].to_list() if n is not None]
    assert numbers == list(range(40))
    assert [f.height for f in found] == [10, 10, 4, 6, 10, 1]


@pytest.mark.parametrize("times", [[7, 7, 7, 7], [9, 8, 7, 6], [5, 6, 7, 8], [5, 9, 7, 2**32]])
def test_files_that_spark_takes_a_few_at_a_time_are_dated_in_their_order(times: list[int], tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    written(folder, {}, 40)
    schema = Schema((Field("n", pl.Int32()), Field("ts", pl.Datetime("us"))))
    for i, seconds in enumerate(times):
        os.utime(folder / f"{i}.parquet", (seconds, seconds))
    for later in range(2):  # begun again after two files
        spool = Spool(tmp_path / "rows", schema, frozenset(["n", "ts"]), again=True, handed="ts", paced=True)
        for i in range(2 + 2 * later):
            assert spool.hand(folder / f"{i}.parquet", 10)
    spool.end()
    made = sorted((tmp_path / "rows").glob("*.parquet"))
    dates = [p.stat().st_mtime_ns // 1_000_000 for p in made]
    assert len(made) == 5 and dates == sorted(set(dates))
    assert [int((folder / f"{i}.parquet").stat().st_mtime) for i in range(4)] == times  # a link is the file itself
    links = [p.stat().st_nlink > 1 for p in made]
    assert links == [True, *(times[i] > max(times[:i]) for i in range(1, 4)), False]


def test_files_held_back_are_seen_when_they_are_shown_or_the_query_is_started_again(tmp_path: Path) -> None:
    schema = Schema((Field("n", pl.Int32()), Field("ts", pl.Datetime("us"))))

    def seen() -> list[str]:
        return sorted(p.name for p in tmp_path.glob("*.parquet"))

    def put(spool: Spool, n: int) -> None:
        spool.put(pl.DataFrame({"n": [n], "ts": [START], TS: [n]}, schema_overrides={"n": pl.Int32}))
        spool.advance(n)

    spool = Spool(tmp_path, schema, frozenset(["n", "ts"]))
    put(spool, 1)
    spool.hold()
    put(spool, 2)
    assert seen() == [f"{i:09}.parquet" for i in (1, 2)]
    spool.show()
    put(spool, 3)
    assert seen() == [f"{i:09}.parquet" for i in range(1, 7)]
    spool.hold()
    put(spool, 4)
    (tmp_path / ".000000009").write_text("half a file that nobody has noted")
    Spool(tmp_path, schema, frozenset(["n", "ts"]))
    assert seen() == [f"{i:09}.parquet" for i in range(1, 9)]
    assert [pl.read_parquet(tmp_path / f"{i:09}.parquet")["n"][0] for i in (1, 3, 5, 7)] == [1, 2, 3, 4]
