"""The life of a query on Spark: it ends with its sources, stops, pauses, fails with one message, and leaves nothing behind."""

from __future__ import annotations

import datetime as dt
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE
from types import SimpleNamespace
from typing import Any

import polars as pl
import pyspark
import pytest

import jupyter_stream
from jupyter_stream.core import logs
from jupyter_stream.errors import QueryError
from jupyter_stream.session.session import Session
from jupyter_stream.spark.progress import Progress
from jupyter_stream.spark.reasons import reason
from jupyter_stream.spark.run import SparkRun
from jupyter_stream.spark.stopping import stopped
from tests.spark.clock import HeldClock
from tests.tiers import only, slow
from tests.waiting import PATIENCE, until

START = dt.datetime(2024, 5, 1, 12)
COUNTS = "SELECT k, count(*) AS n FROM s [RANGE 10 SECONDS TUMBLING] GROUP BY k"


def declared(source: str) -> str:
    return f"CREATE STREAM s (k STRING, n INT, ts TIMESTAMP) ORDER BY ts SOURCE '{source}';"


def frame(seconds: range) -> pl.DataFrame:
    times = [START + dt.timedelta(seconds=s) for s in seconds]
    return pl.DataFrame({"k": ["a"] * len(times), "n": [1] * len(times), "ts": times}, schema_overrides={"n": pl.Int32})


class Live:
    """A source that goes on until it is let go."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.over = threading.Event()

    def rows(self) -> Iterator[pl.DataFrame]:
        yield frame(range(0, 35))
        self.go_on.wait(600)
        yield frame(range(35, 70))
        self.over.wait(600)


@pytest.fixture
def live() -> Iterator[Live]:
    made = Live()
    yield made
    made.go_on.set()
    made.over.set()


def on_spark(session: Session, text: str, **options: Any) -> Any:
    return session.run(text, engine="spark", **options)[-1]


def test_answers_come_while_the_source_goes_on(sessions: Callable[..., Session], live: Live) -> None:
    query = on_spark(sessions(source=live.rows()), declared("python://source") + COUNTS)
    seen: list[int] = []
    query.on_result(lambda rows: seen.append(rows.height))
    until(lambda: query.to_polars().height == 3)
    assert query.status == "running"
    live.go_on.set()
    until(lambda: query.to_polars().height == 6)
    live.over.set()
    assert query.wait(PATIENCE)
    assert query.to_polars()["n"].sum() == 70
    assert sum(seen) <= 7
    assert query.engine == "spark"


@slow
@pytest.mark.parametrize("window", ["RANGE 2 SECONDS TUMBLING", "RANGE 2 SECONDS SLIDE 1 ROW"])
def test_an_idle_source_is_advanced_by_the_clock(
    sessions: Callable[..., Session], live: Live, window: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = HeldClock(monkeypatch)

    def rows() -> Iterator[pl.DataFrame]:
        now = dt.datetime.now(dt.UTC).replace(tzinfo=None)
        yield pl.DataFrame({"k": ["a"], "n": [1], "ts": [now]})
        live.over.wait(600)

    stream = declared("python://source").replace(";", " WITH (idle_timeout = '1 second');")
    query = on_spark(sessions(source=rows()), f"{stream} SELECT k, count(*) AS n FROM s [{window}] GROUP BY k")
    until(lambda: query._pipeline._inlets[0].spool.rows == 1)  # or the clock may pass it on its way
    clock.speak()
    until(lambda: query.to_polars()["n"].to_list() == [1])
    assert query.status == "running"
    live.over.set()
    assert query.wait(PATIENCE)


@pytest.mark.parametrize("how", only(["stop", "drop"], "stop"))
def test_stop_ends_it_and_leaves_nothing_behind(sessions: Callable[..., Session], live: Live, how: str) -> None:
    session = sessions(source=live.rows())
    query = on_spark(session, declared("python://source") + COUNTS)
    until(lambda: query.to_polars().height == 3)
    run = query._pipeline
    assert isinstance(run, SparkRun)
    query.stop() if how == "stop" else session.drop(query.name)
    assert query.wait(PATIENCE)
    assert query.status == "stopped"
    assert query.to_polars().height == 3
    assert (query.name in session.queries) == (how == "stop")
    until(lambda: not run._folder.exists())
    assert not run._job.streaming.isActive


@slow
def test_the_same_text_right_after_stop_starts_anew(sessions: Callable[..., Session]) -> None:
    session = sessions(rows=frame(range(35)))
    first = session.run(declared("frame://rows") + COUNTS, name="counts", engine="spark", paused=True)[-1]
    busy = threading.Event()
    session.engine.submit(lambda: busy.wait(PATIENCE))
    first.stop()
    threading.Timer(0.2, busy.set).start()
    again = on_spark(session, COUNTS, name="counts")
    assert again is not first
    assert again.wait(PATIENCE)
    assert again.to_polars()["n"].sum() == 35
    assert first.status == "stopped"


@slow
def test_a_step_that_stop_breaks_off_is_no_failure(
    sessions: Callable[..., Session], caplog: pytest.LogCaptureFixture
) -> None:
    query = sessions(rows=frame(range(35))).run(declared("frame://rows") + COUNTS, engine="spark", paused=True)[-1]
    run = query._pipeline
    (feed,) = run.feeds

    def stopped_in_the_middle(*_: object) -> None:
        run.finish("stopped")
        raise RuntimeError("broken off")

    run._take, run.paused = stopped_in_the_middle, False
    run.accept(feed, None)
    assert logs.flush()
    assert query.status == "stopped" and "broken off" not in caplog.text
    until(lambda: not run._folder.exists())


@slow
def test_files_spark_has_read_are_deleted(sessions: Callable[..., Session]) -> None:
    over = threading.Event()

    def trickle() -> Iterator[pl.DataFrame]:
        for start in range(0, 600, 10):
            yield frame(range(start, start + 10))
            over.wait(0.1)
        over.wait(600)

    query = on_spark(sessions(source=trickle()), declared("python://source") + COUNTS)
    folder = query._pipeline._folder / "rows0"
    until(lambda: query.to_polars().height == 59)
    until(lambda: len(list(folder.glob("*.parquet"))) < query._pipeline._inlets[0].spool._files.count / 2)
    over.set()
    assert query.wait(PATIENCE)
    assert query.to_polars()["n"].sum() == 600


@slow
def test_pause_holds_rows_back_until_resume(sessions: Callable[..., Session], live: Live) -> None:
    query = on_spark(sessions(source=live.rows()), declared("python://source") + COUNTS)
    until(lambda: query.to_polars().height == 3)
    query.pause()
    until(lambda: query.status == "paused")
    live.go_on.set()
    live.over.set()
    time.sleep(1)
    assert query.to_polars().height == 3
    query.resume()
    assert query.wait(PATIENCE)
    assert query.to_polars()["n"].sum() == 70


@slow
@pytest.mark.parametrize(("window", "first", "later"), [("RANGE 10 SECONDS TUMBLING", 3, 2), ("ROWS 5 SLIDE 5", 7, 4)])
def test_change_of_a_table_goes_for_later_rows(
    window: str, first: int, later: int, sessions: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However late Spark's query, which knows the table as it was, is told of it."""
    go_on, over = threading.Event(), threading.Event()
    measure, waited = SparkRun._measure, threading.Event()

    def rows() -> Iterator[pl.DataFrame]:
        yield frame(range(35))
        go_on.wait(600)
        # half a day from now: the change goes for rows from the clock's time on, and those a day ahead of it are refused
        now = dt.datetime.now(dt.UTC).replace(tzinfo=None) - START
        later = int(now.total_seconds()) // 10 * 10 + 43_200
        yield frame(range(later, later + 20))
        over.wait(600)

    def measured(run: SparkRun, streaming: Any) -> None:
        measure(run, streaming)
        if run.results.frame().height == first and not waited.is_set():
            waited.set()
            session.run("UPDATE names SET name = 'after'")
            go_on.set()
            spool, answered = run._inlets[0].spool, run._job.answered
            until(lambda: spool.written == 55)  # and wait, which `rows` says a little sooner
            until(lambda: spool.flush() or not spool._waiting)
            if not list(spool.folder.glob(".0*")):  # or Spark doesn't see them
                until(lambda: run._job.answered > answered + 1)

    session = sessions(source=rows())
    session.run("CREATE TABLE names (k STRING, name STRING); INSERT INTO names VALUES ('a', 'before')")
    monkeypatch.setattr(SparkRun, "_measure", measured)
    text = f"SELECT name, count(*) AS n FROM s [{window}] JOIN names ON s.k = names.k GROUP BY name"
    query = on_spark(session, declared("python://source") + text)
    until(lambda: query.to_polars().height == first + later)
    over.set()
    assert query.wait(PATIENCE) and waited.is_set()
    found = query.to_polars().group_by("name").agg(pl.col("n").sum())
    assert dict(found.iter_rows()) == {"before": 35, "after": 20}


@slow
def test_interrupts_of_the_notebook_stay_its_own(sessions: Callable[..., Session]) -> None:
    before = signal.getsignal(signal.SIGINT)
    assert on_spark(sessions(rows=frame(range(30))), declared("frame://rows") + COUNTS).wait(PATIENCE)
    assert signal.getsignal(signal.SIGINT) is before


def test_spark_errors_are_one_clear_message(sessions: Callable[..., Session]) -> None:
    inner = "SELECT k, 1 / (count(*) - 10) AS n FROM s [RANGE 10 SECONDS TUMBLING] GROUP BY k"
    query = on_spark(
        sessions(rows=frame(range(30))),
        declared("frame://rows") + f"SELECT k, sum(n) AS n FROM ({inner}) [RANGE 20 SECONDS TUMBLING] GROUP BY k",
    )
    with pytest.raises(QueryError, match="DIVIDE_BY_ZERO") as failed:
        query.wait(PATIENCE)
    assert "\n" not in str(failed.value) and "runId" not in str(failed.value)
    assert query.status == "failed"


def test_reason_is_sparks_own_words() -> None:
    text = "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: [BAD_ONE] No. SQLSTATE: 22012\n\tat x"
    assert reason(text) == "[BAD_ONE] No."


@pytest.mark.parametrize(
    "raised", ["Exception: it can't be", "jupyter_stream.core.gone.Gone: it can't be", "SystemExit: 3"]
)
def test_reason_is_what_python_raised_whatever_it_is_called(raised: str) -> None:
    text = (
        "org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] An exception was thrown from the Python worker: "
        f'Traceback (most recent call last):\n  File "worker.py", line 1, in main\n    process()\n{raised}\n\n\tat org.Spark'
    )
    assert reason(text) == raised


def test_the_same_text_on_the_other_engine_replaces_the_query(sessions: Callable[..., Session], live: Live) -> None:
    session = sessions(source=live.rows())
    first = session.run(declared("python://source") + COUNTS, name="counts")[-1]
    second = on_spark(session, COUNTS, name="counts")
    assert second is not first
    until(lambda: first.status == "stopped")


@slow
def test_a_handle_tells_the_same_as_in_the_kernel(sessions: Callable[..., Session]) -> None:
    query = on_spark(sessions(rows=frame(range(30))), declared("frame://rows") + COUNTS)
    assert query.wait(PATIENCE)
    now = query.snapshot()
    assert (now.rows_in, now.rows_out, now.late, now.bad) == (30, 3, 0, 0)
    assert now.key_columns == ("k",) and now.time_column == "window_end"
    assert query.stats["state"] == "finished"
    assert "This query runs on Spark." in query.explain()
    assert "30 rows in, 3 out" in repr(query)


def stuck(lives: Path) -> type:
    """An aggregate that never ends, as long as there are lives left in a file; each try takes one, at once for who reads it.

    A class of a function's own, so that Spark's processes get it by value, as they get a notebook's.
    """

    class Stuck:
        def initialize(self, n: int) -> None:
            self.n = n
            left = int(lives.read_text())
            if left:
                lives.with_suffix(".new").write_text(str(left - 1))
                lives.with_suffix(".new").rename(lives)
                time.sleep(3600)

        def iterate(self, n: int) -> None:
            self.n += n

        def terminate(self) -> int:
            return self.n

    return Stuck


@slow
@pytest.mark.parametrize("lives", [1, 9])
def test_query_that_spark_leaves_waiting_goes_on_from_its_checkpoint(
    lives: int, sessions: Callable[..., Session], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lives").write_text(str(lives))
    stalled, found = Progress.stalled, 0

    def once_it_waits(progress: Progress, query: Any, answered: int) -> bool:
        """As soon as a try never ends; one that is only slow has the time of any other."""
        nonlocal found
        waits = lives - int((tmp_path / "lives").read_text()) > found
        progress._patience = 2.0 if waits else 100.0
        is_stalled = stalled(progress, query, answered)
        found += is_stalled
        return is_stalled

    monkeypatch.setattr(Progress, "stalled", once_it_waits)
    jupyter_stream.aggregate(name=f"stuck{lives}", arguments=("INT",), returns="BIGINT")(stuck(tmp_path / "lives"))
    text = f"SELECT k, stuck{lives}(n) AS n FROM s [RANGE 10 SECONDS TUMBLING] GROUP BY k"
    session = sessions(rows=frame(range(30)))
    query = on_spark(session, declared("frame://rows") + text)
    if lives == 1:
        assert query.wait(PATIENCE)
        assert sorted(query.to_polars()["n"]) == [10, 10, 10]
        assert (tmp_path / "lives").read_text() == "0"
    else:
        with pytest.raises(QueryError, match="3 times over") as failed:
            query.wait(PATIENCE)
        assert "\n" not in str(failed.value)


@slow
def test_a_job_that_begins_while_its_query_is_stopped_is_given_up(spark: Any) -> None:
    """As where Spark was told to stop in the planning of a micro-batch: the job comes after that, and nothing else ends it."""

    context = spark.sparkContext
    with stopped(SimpleNamespace(runId="planned", stop=lambda: None), context):
        context.setJobGroup("planned", "a micro-batch")
        with pytest.raises(Exception, match="cancelled"):
            context.parallelize([1], 1).map(lambda n: time.sleep(3600)).collect()
    context.setLocalProperty("spark.jobGroup.id", None)


@slow
def test_sparks_python_reads_pyspark_where_it_is_installed_and_keeps_the_kernels_path(tmp_path: Path) -> None:
    """Spark puts a zip file on PYTHONPATH, from which each process would compile PySpark anew."""
    (tmp_path / "mine.py").write_text("here = 1")
    asked = "from jupyter_stream.spark.worker_python import worker_python as w; print(w()); input()"
    mine = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": mine}
    command = [sys.executable, "-c", asked]
    with subprocess.Popen(command, env=environment, stdin=PIPE, stdout=PIPE, text=True) as kernel:
        assert kernel.stdout is not None
        python = kernel.stdout.readline().strip()
        said = "import mine, pyspark, sys; print(sys.executable, pyspark.__file__)"
        zipped = {**environment, "PYTHONPATH": os.pathsep.join(["/there/pyspark.zip", mine])}
        told = subprocess.run([python, "-c", said], env=zipped, capture_output=True, text=True, check=True).stdout
        plain = subprocess.run(
            [python, "-c", "import sys; print(sys.path)"], env=zipped, capture_output=True, text=True
        )
        kernel.communicate("\n")
    assert told.split() == [sys.executable, pyspark.__file__]
    assert "pyspark.zip" not in plain.stdout and str(tmp_path) in plain.stdout
    assert not Path(python).exists(), "it is deleted when the kernel ends"


@pytest.mark.parametrize(("others", "waits"), [(1, False), (0, True)])
def test_tasks_that_do_not_begin_are_waited_for_only_while_others_are_at_work(others: int, waits: bool) -> None:
    """Spark's tracker is made up here: no Spark leaves the tasks of a job unbegun at a word."""
    jobs = {1: SimpleNamespace(stageIds=[10]), 2: SimpleNamespace(stageIds=[20])}
    stages = {
        10: SimpleNamespace(stageId=10, numActiveTasks=0, numCompletedTasks=0),
        20: SimpleNamespace(numActiveTasks=others),
    }
    tracker = SimpleNamespace(
        getActiveJobsIds=lambda: [1, 2],
        getJobIdsForGroup=lambda group: [1],
        getJobInfo=jobs.get,
        getStageInfo=stages.get,
    )
    progress = Progress(SimpleNamespace(statusTracker=lambda: tracker), 0.0)  # any time is too long
    seen = [progress.stalled("run", tuple) for _ in range(20)]
    assert any(seen) == waits
