"""Rows that are late only for what an earlier run of a query had promised: by the clock, or of rows that come no more."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.core.messages import BROKEN, LATE_ID, ROW, TS
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.session.session import Session
from jupyter_stream.spark.expressions import SHIFT
from jupyter_stream.spark.promised import Promised
from jupyter_stream.spark.spool import SAID, Spool
from tests.oracle.search import searching
from tests.spark.clock import HeldClock
from tests.tiers import slow
from tests.waiting import until

DECLARED = """CREATE STREAM s (n INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 1 SECOND)
    SOURCE '{source}' WITH ({options});"""
IDLE = "idle_timeout = '1 second'"
WINDOWS = ["RANGE 2 SECONDS TUMBLING", "RANGE 2 SECONDS SLIDE 1 ROW"]


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC).replace(tzinfo=None)


def rows(*times: dt.datetime) -> pl.DataFrame:
    return pl.DataFrame({"n": [1] * len(times), "ts": times}, schema={"n": pl.Int32, "ts": pl.Datetime("us")})


def read(query: Any) -> int:
    """How many rows it has taken, those of earlier runs that came again among them."""
    rows: int = query._pipeline._inlets[0].spool.rows
    return rows


def counted(sessions: Callable[..., Session], declared: str, window: str, checkpoint: Path, **names: object) -> Any:
    session = sessions(**names)
    text = f"SELECT count(*) AS c FROM s [{window}]"
    return session.run(declared + text, engine="spark", checkpoint=checkpoint)[-1]


@slow
@pytest.mark.timeout(900)  # a net for what never ends: nothing below goes by the clock
@pytest.mark.parametrize("by", ["clock", "rows"])
@pytest.mark.parametrize("window", WINDOWS)
def test_row_late_for_what_the_earlier_run_promised_is_kept_as_late(
    window: str, by: str, sessions: Callable[..., Session], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = HeldClock(monkeypatch)
    declared = DECLARED.format(source="python://live", options=IDLE if by == "clock" else "")
    declared = declared.replace(" WITH ()", "")
    begun, over = now(), threading.Event()

    def first() -> Iterator[pl.DataFrame]:
        yield rows(begun)
        if by == "rows":
            yield rows(begun + dt.timedelta(hours=1))
        over.wait(600)

    query = counted(sessions, declared, window, tmp_path / "checkpoint", live=first())
    until(lambda: read(query) == (1 if by == "clock" else 2))
    clock.speak()
    until(lambda: query.to_polars()["c"].to_list()[:1] == [1])
    query.stop()
    over.set()
    clock.hold()
    later = begun + dt.timedelta(hours=2)
    second = iter([rows(begun, later)])
    again = counted(sessions, declared, window, tmp_path / "checkpoint", live=second)
    assert again.wait()
    assert again.late["ts"].to_list() == [begun]
    whole = again.to_polars()["c"].to_list()
    assert sum(whole) == (2 if by == "clock" else 3), "the late one is in an answer"


@slow
@pytest.mark.timeout(900)
def test_lines_late_by_the_clock_are_late_when_they_are_read_again(
    sessions: Callable[..., Session], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = HeldClock(monkeypatch)
    folder, checkpoint, begun = tmp_path / "log", tmp_path / "checkpoint", now()
    folder.mkdir()
    log = folder / "now.csv"
    log.write_text(f"1,{begun.isoformat()}\n")
    options = f"follow = 'true', header = 'false', format = 'csv', {IDLE}"
    declared = DECLARED.format(source=f"file://{folder}", options=options)
    query = counted(sessions, declared, WINDOWS[0], checkpoint)
    until(lambda: read(query) == 1)
    clock.speak()
    until(lambda: query.to_polars()["c"].sum() == 1)
    query.stop()
    clock.hold()
    with log.open("a") as file:
        file.write(f"1,{begun.isoformat()}\n1,{now().isoformat()}\n")
    for _ in range(2):  # the second time the late line is one of those that come again
        again = counted(sessions, declared, WINDOWS[0], checkpoint)
        until(lambda again=again: read(again) == 3)
        clock.speak()
        until(lambda again=again: again.to_polars()["c"].sum() == 2)
        until(lambda again=again: again.late["ts"].to_list() == [begun])
        again.stop()
        clock.hold()


@searching
@given(data=st.data())
def test_promises_go_for_the_rows_after_them(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("promises") / "promised"
    values = st.integers(-50, 50)
    notes = sorted(data.draw(st.lists(st.tuples(st.integers(0, 12), values), max_size=5)))
    end = data.draw(values)
    again = data.draw(st.booleans())
    first = Promised(path, 0, MIN_TIME, again=True)
    for after, value in notes:
        first.note(after, value)
    second = Promised(path, 12, end, again=again)
    count = data.draw(st.integers(1, 20))
    times = data.draw(st.lists(values, min_size=count, max_size=count))
    known = data.draw(st.lists(st.none() | values, min_size=count, max_size=count))
    numbers = np.arange(1, count + 1)
    frame = pl.DataFrame(
        {ROW: numbers, TS: times, BROKEN: known, LATE_ID: [None if k is None else i + 1 for i, k in enumerate(known)]},
        schema={ROW: pl.Int64, TS: pl.Int64, BROKEN: pl.Int64, LATE_ID: pl.Int64},
    )
    found = second.marked(frame)
    for n, time, before, broken, late in zip(numbers, times, known, found[BROKEN], found[LATE_ID], strict=True):
        promises = [v for after, v in [*notes, (12, end)] if after < n] if again else [end]
        worst = max((v for v in promises if time < v), default=None)
        both = [v for v in (before, worst) if v is not None]
        assert broken == (max(both) if both else None)
        assert late == (n if both else None)


@pytest.mark.parametrize("written", ["by the clock", "by their number"])
def test_a_promise_that_comes_when_its_rows_are_written_is_written_too(
    written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = Spool(tmp_path / "rows", Schema((Field("n", pl.Int32()),)), frozenset(["n"]), promises=True)
    if written == "by their number":
        monkeypatch.setattr("jupyter_stream.spark.spool._FILE_ROWS", 2)
    spool.put(pl.DataFrame({"n": [1, 2], TS: [10, 20]}, schema={"n": pl.Int32, TS: pl.Int64}))
    sleep(0.2)
    spool.flush()
    files = sorted((tmp_path / "rows").glob("*.parquet"))
    assert len(files) == 1
    spool.said(15)
    spool.said(17)
    sleep(0.2)
    spool.flush()
    spool.flush()
    (new,) = sorted(set((tmp_path / "rows").glob("*.parquet")) - set(files))
    found = pl.read_parquet(new)
    assert found[ROW].to_list() == [0]
    assert found[SAID].to_physical().to_list() == [17 + SHIFT]


@slow
def test_answers_that_spark_was_still_to_give_come_after_a_change_of_a_table(sessions: Callable[..., Session]) -> None:
    over = threading.Event()

    def rows() -> Iterator[pl.DataFrame]:
        yield pl.DataFrame({"k": ["a"] * 25, "ts": [dt.datetime(2024, 5, 1, 12, 0, i) for i in range(25)]})
        over.wait(600)

    session = sessions(source=rows())
    session.run("CREATE TABLE names (k STRING, name STRING); INSERT INTO names VALUES ('a', 'before')")
    query: Any = session.run(
        "CREATE STREAM s (k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts) SOURCE 'python://source';"
        "SELECT name, count(*) AS n FROM s [RANGE 10 SECONDS TUMBLING] JOIN names ON s.k = names.k GROUP BY name",
        engine="spark",
        trigger="1000 hours",  # Spark begins a micro-batch at each multiple of it
    )[-1]
    until(lambda: query._pipeline.health.taken > 0)
    assert query.to_polars().is_empty()  # the next micro-batch would give them
    session.run("UPDATE names SET name = 'after'")
    until(lambda: query.to_polars()["n"].to_list() == [10, 10])
    over.set()
    query.stop()
