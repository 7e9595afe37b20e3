"""Rows that are all there before Spark would begin are answered by one batch job."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from jupyter_stream.session.session import Session
from jupyter_stream.spark.job import SparkJob
from jupyter_stream.spark.progress import Progress
from tests.tiers import slow
from tests.waiting import PATIENCE, until

ROWS = pl.DataFrame({"ts": range(0, 100_000_000, 100_000)}).with_columns(
    k=pl.col("ts") // 100_000 % 7, n=pl.col("ts") % 13
)
DECLARED = "CREATE STREAM s (ts BIGINT, k BIGINT, n BIGINT) ORDER BY ts SOURCE '{}'"
OPERATORS = {"Spark's": "count(*)", "ours": "median(n)"}


def answered(session: Session, text: str) -> Any:
    handle: Any = session.run(text, engine="spark")[-1]
    assert handle.wait(PATIENCE)
    return handle


@slow
@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(("source", "whose"), product(["file", "frame"], OPERATORS))
def test_few_rows_are_one_batch_job(whose: str, source: str, sessions: Callable[..., Session], tmp_path: Path) -> None:
    session = sessions(rows=ROWS)
    ROWS.write_parquet(tmp_path / "rows.parquet")
    session.run(DECLARED.format("frame://rows" if source == "frame" else f"file://{tmp_path}/rows.parquet"))
    text = f"SELECT k, {OPERATORS[whose]} AS v FROM s [RANGE 10 SECONDS TUMBLING] GROUP BY k"
    kernel: Any = session.run(text)[-1]
    spark = answered(session, text)
    run = spark._pipeline
    assert run._job.streaming is None and run.health.taken == ROWS.height
    assert sorted(spark.to_polars().rows()) == sorted(kernel.to_polars().rows())


@slow
@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("more", ["EMIT EVERY 20 SECONDS", "--trigger", "--checkpoint"])
def test_who_asks_for_micro_batches_gets_them(more: str, sessions: Callable[..., Session], tmp_path: Path) -> None:
    session = sessions(rows=ROWS)
    session.run(DECLARED.format("frame://rows"))
    text = "SELECT count(*) AS v FROM s [RANGE 10 SECONDS TUMBLING]"
    words: dict[str, Any] = {
        "--trigger": {"trigger": "1 second"},
        "--checkpoint": {"checkpoint": str(tmp_path / "c")},
    }.get(more, {})
    handle: Any = session.run(text if words else f"{text} {more}", engine="spark", **words)[-1]
    assert handle.wait(PATIENCE) and handle._pipeline._job.streaming is not None
    assert handle.to_polars().height >= 10


@slow
@pytest.mark.usefixtures("at_once")
def test_a_batch_job_that_is_stopped_ends(sessions: Callable[..., Session], monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Any] = []

    def long(job: SparkJob, spark: Any, rows: object, buckets: int) -> Any:
        begun.append(spark)
        return spark.range(10**12).selectExpr("max(hash(id))")

    monkeypatch.setattr(SparkJob, "_made", long)
    session = sessions(rows=ROWS)
    session.run(DECLARED.format("frame://rows"))
    handle: Any = session.run("SELECT count(*) AS v FROM s [RANGE 10 SECONDS TUMBLING]", engine="spark")[-1]
    until(lambda: begun and begun[0].sparkContext.statusTracker().getActiveJobsIds())
    handle.stop()
    until(lambda: handle.status == "stopped")
    until(lambda: not begun[0].sparkContext.statusTracker().getActiveJobsIds())
    handle._pipeline._thread.join(PATIENCE)
    assert not handle._pipeline._thread.is_alive() and handle._pipeline.error is None


@slow
@pytest.mark.usefixtures("at_once")
def test_a_batch_job_that_gets_nowhere_ends_and_is_done_again(
    sessions: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Any] = []
    made = SparkJob._made

    def long_at_first(job: SparkJob, spark: Any, rows: Any, buckets: int) -> Any:
        tried.append(spark)
        return spark.range(10**12).selectExpr("max(hash(id))") if len(tried) == 1 else made(job, spark, rows, buckets)

    def stalled(progress: Progress, group: str, far: object) -> bool:
        return len(tried) == 1 and bool(tried[0].sparkContext.statusTracker().getJobIdsForGroup(group))

    monkeypatch.setattr(SparkJob, "_made", long_at_first)
    monkeypatch.setattr(Progress, "stalled", stalled)
    session = sessions(rows=ROWS)
    session.run(DECLARED.format("frame://rows"))
    handle = answered(session, "SELECT count(*) AS v FROM s [RANGE 10 SECONDS TUMBLING]")
    assert handle.to_polars()["v"].sum() == ROWS.height and len(tried) == 2
    until(lambda: not tried[0].sparkContext.statusTracker().getActiveJobsIds())


@slow
@pytest.mark.usefixtures("at_once")
def test_a_batch_job_whose_python_begins_too_slowly_is_done_again(
    sessions: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Any] = []
    answers = SparkJob._answers

    def slow_at_first(job: SparkJob, spark: Any, path: str | None = None) -> object:
        tried.append(spark)
        if len(tried) == 1:
            raise RuntimeError("the Python worker failed to connect back")
        return answers(job, spark, path)

    monkeypatch.setattr(SparkJob, "_answers", slow_at_first)
    session = sessions(rows=ROWS)
    session.run(DECLARED.format("frame://rows"))
    handle = answered(session, "SELECT count(*) AS v FROM s [RANGE 10 SECONDS TUMBLING]")
    assert handle.to_polars()["v"].sum() == ROWS.height and len(tried) == 2
