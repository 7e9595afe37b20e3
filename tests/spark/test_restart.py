"""A query with a checkpoint, killed and started again: nothing lost, nothing twice. And what killed ones leave behind."""

from __future__ import annotations

import datetime as dt
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from jupyter_stream.checkpoints import folders
from jupyter_stream.checkpoints.folders import kept, sweep, temporary
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.session.session import Session
from jupyter_stream.spark.job import SparkJob
from jupyter_stream.spark.run import SparkRun
from jupyter_stream.spark.settings import settings
from tests.oracle.compare import assert_same_bag, plain_rows
from tests.spark.killed import environment
from tests.spark.test_life import START
from tests.tiers import only, slow
from tests.waiting import PATIENCE, until

SCRIPT = """
import json
import signal
import sys
import time
from pathlib import Path
import polars as pl
from jupyter_stream import Session
rows, folder, queries = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
session = Session({"rows": pl.read_parquet(rows)})
conf = ["spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC", "spark.sql.shuffle.partitions=2"]
started, interrupts = [], signal.getsignal(signal.SIGINT)
for number, (declared, text) in enumerate(queries):
    session.run(declared)
    options = {"engine": "spark", "checkpoint": f"{folder}/{number}", "conf": conf, "trigger": "2 seconds"}
    *said, query = session.run(text, name=f"q{number}", **options)
    assert number or str(said[0]) == "Spark is being started, which takes some seconds."
    started.append(query)
while started[0].status == "waiting":
    time.sleep(0.1)
assert signal.getsignal(signal.SIGINT) is interrupts
Path(folder, "interrupts").touch()
for query in started:
    query.wait()
"""
"""Starts queries whose input comes slowly; notes that Spark, which it starts, has left the notebook its interrupts."""
DECLARED = """CREATE STREAM s (k STRING, n INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
    SOURCE '{source}'{options}"""
SLOWLY = " WITH (rate = '30/s')"
QUERIES = {
    "window": (
        "file",
        "SELECT k, count(*) AS c, sum(10 / n) AS n FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k",
    ),
    "ungrouped, with empty extents": (
        "frame",
        "SELECT count(*) AS c, sum(n) AS n FROM s [RANGE 10 SECONDS TUMBLING] WHERE n > 0",
    ),
    "our operators, by partition": (
        "frame",
        "SELECT k, sum(10 / n) OVER (PARTITION BY k ROWS 5 PRECEDING) AS n FROM s WHERE n < 9",
    ),
    "our operators, on one partition": (
        "file",
        "SELECT count(*) AS c, max(n) AS n FROM s [RANGE 10 SECONDS SLIDE 100 ROWS]",
    ),
    "provisional answers": (
        "frame",
        "SELECT k, count(*) AS c, sum(n) AS n FROM s [RANGE 10 SECONDS TUMBLING] GROUP BY k EMIT EVERY 4 SECONDS",
    ),
}
"""Each with its source and its text."""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30,000 rows, some of them late, in a file."""
    count = 30_000
    at = pl.Series(range(count))
    late = (at * 7919 % 13 == 0).cast(pl.Int64) * (at * 31 % 9) * 1_000_000
    ts = (1_735_689_600_000_000 + at * 50_000 - late).cast(pl.Datetime("us"))
    frame = pl.DataFrame({"k": (at % 5).cast(pl.String), "n": (at * 17 % 11).cast(pl.Int32), "ts": ts})
    # a time in which nothing comes
    frame = frame.with_columns(
        pl.when(at > 20_000).then(pl.col("ts") + pl.duration(minutes=5)).otherwise("ts").alias("ts")
    )
    path = tmp_path_factory.mktemp("input") / "rows.parquet"
    frame.write_parquet(path)
    return path


def declared(name: str, rows: Path, options: str = "") -> str:
    """The declaration of a query's stream."""
    source = f"file://{rows}" if QUERIES[name][0] == "file" else "frame://rows"
    return DECLARED.format(source=source, options=options)


@pytest.fixture(scope="module")
def killed(request: pytest.FixtureRequest, rows: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The checkpoints of the queries that tests are to run for, whose process was killed in mid-run, when each had answered."""
    tests = {item.name for item in request.session.items}
    names = [n for n in QUERIES if f"{test_killed_query_goes_on_from_its_checkpoint.__name__}[{n}]" in tests]
    folder = tmp_path_factory.mktemp("checkpoints")
    script = folder / "script.py"
    script.write_text(SCRIPT)
    queries = json.dumps([(declared(name, rows, SLOWLY), QUERIES[name][1]) for name in names])
    arguments = [sys.executable, str(script), str(rows), str(folder), queries]
    log = folder / "log"
    with log.open("w") as file:
        child = subprocess.Popen(arguments, env=environment(folder), stderr=file)
    try:
        noted = folder / "interrupts"
        while not noted.exists() or not all(list(folder.glob(f"{i}/answers/*.arrow")) for i in range(len(names))):
            assert child.poll() is None, f"they don't get as far as answers: {log.read_text()}"
            time.sleep(0.05)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert not re.findall(r" (?:INFO|WARN|ERROR) .*", log.read_text()), "Spark logs into the notebook"
    return {name: folder / str(i) for i, name in enumerate(names)}


@pytest.mark.timeout(1800)  # a net for what never ends: nothing below goes by the clock
@pytest.mark.parametrize("name", only(QUERIES, "window"))
def test_killed_query_goes_on_from_its_checkpoint(
    name: str, rows: Path, killed: dict[str, Path], sessions: Callable[..., Session]
) -> None:
    text, checkpoint = QUERIES[name][1], killed[name]
    session = sessions(rows=pl.read_parquet(rows))
    session.run(declared(name, rows))
    kernel: Any = session.run(text)[-1]
    assert kernel.wait()
    assert not json.loads((checkpoint / "rows0" / ".last").read_text())["ended"], "it was not killed in mid-run"
    again: Any = session.run(text, engine="spark", checkpoint=checkpoint)[-1]
    assert again.wait()
    for ours, theirs in ((again.to_polars(), kernel.to_polars()), (again.late, kernel.late)):
        assert_same_bag(plain_rows(ours), plain_rows(theirs), theirs.columns)
    assert sorted(again.errors.rows()) == sorted(kernel.errors.rows())
    if "EMIT" in text:
        given, expected = again.changes(), kernel.changes()
        assert not expected["is_final"].all()
        assert_same_bag(plain_rows(given), plain_rows(expected), expected.columns)


FOLLOWED = ("window", "our operators, by partition")
"""Of the queries above, those that read files as they grow as well."""


def lines_of(rows: pl.DataFrame, spoilt: bool = False) -> str:
    """CSV without a header; one record in a hundred none, if they are to be spoilt."""
    lines = rows.write_csv(include_header=False).splitlines(keepends=True)
    return "".join("none\n" if spoilt and i % 100 == 7 else line for i, line in enumerate(lines))


@slow
@pytest.mark.timeout(1800)  # a net for what never ends: nothing below goes by the clock
def test_killed_queries_read_a_file_that_grows_again_as_they_had_and_go_on(
    rows: Path, tmp_path: Path, sessions: Callable[..., Session]
) -> None:
    """Nothing lost, nothing twice, with lines that come while no query runs, half a line at the kill, and a rotation."""
    folder, checkpoints = tmp_path / "log", tmp_path / "checkpoints"
    folder.mkdir()
    checkpoints.mkdir()
    log, all_rows = folder / "now.csv", pl.read_parquet(rows)
    log.write_text(lines_of(all_rows[:2_000], spoilt=True))
    followed = DECLARED.format(
        source=f"file://{folder}", options=" WITH (follow = 'true', header = 'false', format = 'csv')"
    )
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    queries = json.dumps([(followed, QUERIES[name][1]) for name in FOLLOWED])
    arguments = [sys.executable, str(script), str(rows), str(checkpoints), queries]
    child = subprocess.Popen(arguments, env=environment(tmp_path))
    upto = 2_000
    try:
        while not all(list(checkpoints.glob(f"{i}/answers/*.arrow")) for i in range(len(FOLLOWED))):
            assert child.poll() is None, "they don't get as far as answers"
            if upto < 20_000:  # while they read; a busy machine takes long to start Spark
                with log.open("a") as file:
                    file.write(lines_of(all_rows[upto : upto + 50], spoilt=True))
                upto += 50
            time.sleep(0.2)
        with log.open("a") as file:
            file.write(lines_of(all_rows[upto : upto + 1])[:3])
        time.sleep(0.2)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    with log.open("a") as file:
        file.write(lines_of(all_rows[upto : upto + 1])[3:] + lines_of(all_rows[upto + 1 : upto + 3_000]))
    log.rename(folder / "before.csv")
    log.write_text(lines_of(all_rows[upto + 3_000 : upto + 6_000]) + "end,1,2025-01-02T00:00:00\n")
    session = sessions()
    once = DECLARED.replace("STREAM s", "STREAM once")
    session.run(once.format(source=f"file://{folder}", options=" WITH (header = 'false')"))
    session.run(followed)
    for i, name in enumerate(FOLLOWED):
        text = QUERIES[name][1]
        kernel: Any = session.run(text.replace("FROM s", "FROM once"), name=f"kernel{i}")[-1]
        assert kernel.wait()
        expected = kernel.to_polars().filter(pl.col("k") != "end")
        again: Any = session.run(text, name=f"again{i}", engine="spark", checkpoint=checkpoints / str(i))[-1]
        while again.to_polars().height < expected.height:
            assert again.status in ("waiting", "running"), again.snapshot().error
            time.sleep(0.1)
        assert_same_bag(plain_rows(again.to_polars()), plain_rows(expected), expected.columns)
        assert expected.height > 100 and kernel.late.height > 10
        until(lambda again=again, kernel=kernel: again.late.height >= kernel.late.height)  # told after the answers
        assert_same_bag(plain_rows(again.late), plain_rows(kernel.late), kernel.late.columns)
        raw = [sorted(frame.get_column("raw")) for frame in (again.errors, kernel.errors)]
        assert raw[0] == raw[1] and "none" in raw[0]
        again.stop()


@slow
def test_ended_query_gives_its_answers_again(rows: Path, tmp_path: Path, sessions: Callable[..., Session]) -> None:
    name, checkpoint = "window", tmp_path / "checkpoint"
    text = QUERIES[name][1]
    session = sessions(rows=pl.read_parquet(rows))
    session.run(declared(name, rows))
    first: Any = session.run(text, engine="spark", checkpoint=checkpoint)[-1]
    assert first.wait(PATIENCE)
    again: Any = session.run(text, name="again", engine="spark", checkpoint=checkpoint)[-1]
    assert again.wait(PATIENCE)
    assert_same_bag(plain_rows(again.to_polars()), plain_rows(first.to_polars()), first.to_polars().columns)
    assert again.to_polars().height > 100
    with pytest.raises(QueryError, match="another query"):
        session.run("SELECT k FROM s", engine="spark", checkpoint=checkpoint)


@slow
def test_query_waits_for_the_spark_of_a_killed_kernel_to_let_go_of_its_checkpoint(
    rows: Path, tmp_path: Path, sessions: Callable[..., Session]
) -> None:
    checkpoint = tmp_path / "checkpoint"
    checkpoint.mkdir()
    code = (
        "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print(flush=True); "
        "time.sleep(600)"
    )
    session = sessions(rows=pl.read_parquet(rows))
    session.run(declared("window", rows))
    text, options = QUERIES["window"][1], {"engine": "spark", "checkpoint": checkpoint}
    first: Any = session.run(text, **options)[-1]
    assert first.wait(PATIENCE)
    with subprocess.Popen([sys.executable, "-c", code, str(checkpoint / "held")], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None
            other.stdout.readline()
            impatient: Any = session.run(text, conf={"jupyter_stream.stalled": "1 second"}, **options)[-1]
            with pytest.raises(QueryError, match="another Spark still writes to the checkpoint"):
                impatient.wait(PATIENCE)
            stopped: Any = session.run(text, **options)[-1]
            job = stopped._pipeline._job
            while job._context is None:  # it has come to the lock
                time.sleep(0.01)
            stopped.stop()
            assert stopped._pipeline.done.wait(PATIENCE) and job.streaming is None
            waiting: Any = session.run(text, **options)[-1]
            job = waiting._pipeline._job
            while job._context is None:
                time.sleep(0.01)
            assert not waiting.wait(1) and job.streaming is None
        finally:
            other.kill()
    assert waiting.wait(PATIENCE)
    assert_same_bag(plain_rows(waiting.to_polars()), plain_rows(first.to_polars()), first.to_polars().columns)


@slow
@pytest.mark.usefixtures("alone")  # nobody else's micro-batches are logged
def test_micro_batch_that_begins_while_its_query_is_stopped_comes_again(
    sessions: Callable[..., Session], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody answers it any more, Spark must not take it for answered, and no log calls it an error."""
    checkpoint, go_on, begun, over = tmp_path / "checkpoint", threading.Event(), threading.Event(), threading.Event()

    def some(first: int, last: int) -> pl.DataFrame:
        times = [START + dt.timedelta(seconds=s) for s in range(first, last)]
        return pl.DataFrame({"ts": times, "n": [1] * len(times)}, schema_overrides={"n": pl.Int32})

    def live() -> Iterator[pl.DataFrame]:
        yield some(0, 35)
        go_on.wait(200)
        yield some(35, 70)
        over.wait(600)

    def run(rows: Iterator[pl.DataFrame]) -> Any:
        session = sessions(rows=rows)
        session.run("CREATE STREAM s (n INT, ts TIMESTAMP) ORDER BY ts SOURCE 'python://rows'")
        text = "SELECT sum(n) AS n FROM s [RANGE 10 SECONDS TUMBLING]"
        return session.run(text, engine="spark", checkpoint=checkpoint)[-1]

    measure, batch = SparkRun._measure, SparkJob._batch

    def noted(job: SparkJob, frame: Any, number: int) -> None:
        if job.stopping.is_set():
            begun.set()
        batch(job, frame, number)

    def measured(at: SparkRun, query: Any) -> None:
        """Between being told to stop and telling Spark to."""
        if at is first._pipeline and at._job.stopping.is_set() and not go_on.is_set():
            answered = len(list((checkpoint / "checkpoint" / "commits").glob("[0-9]*")))
            go_on.set()
            while not begun.is_set():
                at._inlets[0].spool.flush()
                time.sleep(0.05)
            until(
                lambda: (
                    not query.isActive or len(list((checkpoint / "checkpoint" / "commits").glob("[0-9]*"))) > answered
                )
            )
        measure(at, query)

    monkeypatch.setattr(SparkJob, "_batch", noted)
    monkeypatch.setattr(SparkRun, "_measure", measured)
    first = run(live())
    until(lambda: first.to_polars().height == 3)
    first._pipeline._job.stopping.set()  # as where the engine stops it with rows on their way
    assert first._pipeline.done.wait(200) and begun.is_set()
    over.set()
    again = run(iter([some(70, 100)]))
    assert again.wait(200)
    assert again.to_polars()["n"].to_list() == [10] * 10
    assert not [record for record in caplog.records if record.name.startswith("py4j")]


def test_folder_of_something_else_is_no_checkpoint(sessions: Callable[..., Session], tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    session = sessions(rows=pl.DataFrame({"ts": [0]}))
    session.run("CREATE STREAM s (ts BIGINT) ORDER BY ts SOURCE 'frame://rows'")
    with pytest.raises(QueryError, match="is not a checkpoint"):
        session.run("SELECT ts FROM s", engine="spark", checkpoint=tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "precious"


def test_folder_has_one_owner(tmp_path: Path) -> None:
    first = kept(tmp_path / "c")
    assert first is not None
    assert kept(tmp_path / "c", patience=0) is None
    first.release()
    second = kept(tmp_path / "c", patience=0)
    assert second is not None
    second.release()
    assert second.path.exists()


@slow
def test_folder_whose_query_has_been_told_to_stop_is_waited_for(tmp_path: Path) -> None:
    first = kept(tmp_path / "c")
    assert first is not None
    first.leave()
    later = threading.Timer(0.5, first.release)
    later.start()
    second = kept(tmp_path / "c", patience=0)
    later.join()
    assert second is not None
    first.leave()  # told once more, too late
    assert kept(tmp_path / "c", patience=0) is None
    second.release()


@pytest.mark.parametrize("deleted", [False, True])
def test_new_folder_that_another_process_takes_for_one_left_behind_is_given_up(
    deleted: bool, own_temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks between the making of the file and its lock."""
    lock, swept = fcntl.flock, []

    def flock(claim: Any, how: int) -> None:
        folder = Path(claim.name).parent
        if not swept:
            swept.append((folder / "claimed").open("a"))
            lock(swept[0], how)
            if deleted:
                shutil.rmtree(folder)
                swept[0].close()
        lock(claim, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    made = temporary()
    assert made.path.exists() and made.path != Path(swept[0].name).parent
    assert (made.path / "claimed").exists()
    swept[0].close()
    made.release()
    sweep()
    assert not list(own_temporary.iterdir())


def test_folder_that_somebody_still_writes_to_is_deleted_in_the_end(
    own_temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As tasks of a query do that was stopped."""
    monkeypatch.setattr(folders, "_EMPTYING", PATIENCE)
    made, rmtree, writes = temporary(), shutil.rmtree, iter(range(3))
    (made.path / "checkpoint").mkdir()

    def while_it_writes(path: Path, **how: Any) -> None:
        rmtree(path, **how)
        if path.name == "checkpoint" and next(writes, None) is not None:
            path.mkdir()
            (path / "state").write_text("3")

    monkeypatch.setattr(shutil, "rmtree", while_it_writes)
    made.release()
    assert not list(own_temporary.iterdir()) and next(writes, None) is None


def test_folders_of_killed_processes_are_deleted_at_the_next_start(own_temporary: Path) -> None:
    code = (
        "from jupyter_stream.checkpoints.folders import temporary; f = temporary(); print(f.path, flush=True); "
        "import time; time.sleep(600)"
    )
    within = {**os.environ, "TMPDIR": str(own_temporary), "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=within)
    assert child.stdout is not None
    left = Path(child.stdout.readline().strip())
    alive = temporary()
    assert left.exists()
    child.kill()
    child.wait()
    child.stdout.close()
    other = temporary()
    assert not left.exists() and alive.path.exists()
    other.release()
    alive.release()
    assert not list(own_temporary.iterdir())


ENDS = """
import sys, threading
from pathlib import Path
from jupyter_stream.checkpoints.folders import temporary
from jupyter_stream.spark.stopping import ending_with_the_process

folder, begun, told = temporary(), threading.Event(), threading.Event()

def query():
    with ending_with_the_process(told.set):
        begun.set()
        told.wait()
        (folder.path / "last").write_text("written")
        Path(sys.argv[1]).write_text(str(folder.path.exists()))

threading.Thread(target=query, daemon=True).start()
begun.wait()
if pid := os.fork():
    os.waitpid(pid, 0)
    assert folder.path.exists(), "it is not the fork's"
"""


def test_a_process_that_ends_stops_its_queries_and_deletes_their_folders(tmp_path: Path) -> None:
    own, said = tmp_path / "its", tmp_path / "said"
    own.mkdir()
    within = {**os.environ, "TMPDIR": str(own), "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", f"import os{ENDS}", str(said)], env=within, check=True)
    assert said.read_text() == "True"
    assert not list(own.iterdir())


def test_settings_say_what_is_wrong_with_them() -> None:
    with pytest.raises(UnsupportedError, match="Spark runs on yarn, which can't read"):
        settings("yarn", (), None, None)
    with pytest.raises(QueryError, match="not a setting of Spark"):
        settings(None, ["spark.sql.shuffle.partitions"], None, None)
    with pytest.raises(QueryError, match="not a length of time between"):
        settings(None, (), None, "often")
    made = settings("local[2]", ["a=b=c"], "~/there", "5 seconds")
    assert made.conf == {"a": "b=c"} and made.trigger == 5_000_000
    assert made.checkpoint == Path.home() / "there"
    assert settings("spark://there:7077", (), "~/there", None).master == "spark://there:7077"


@slow
def test_settings_of_spark_go_with_spark(sessions: Callable[..., Session]) -> None:
    session = sessions(rows=pl.DataFrame({"ts": [0, 1]}))
    session.run("CREATE STREAM s (ts BIGINT) ORDER BY ts SOURCE 'frame://rows'")
    with pytest.raises(QueryError, match="engine spark"):
        session.run("SELECT ts FROM s", conf=["a=b"])
    with pytest.raises(QueryError, match="runs already"):
        session.run("SELECT ts FROM s", engine="spark", master="local[7]")
    fixed: Any = session.run("SELECT ts FROM s", engine="spark", conf={"spark.sql.ansi.enabled": "false"})[-1]
    with pytest.raises(QueryError, match="answers would differ"):
        fixed.wait(PATIENCE)
    late: Any = session.run("SELECT ts FROM s", engine="spark", conf={"spark.driver.memory": "77g"})[-1]
    with pytest.raises(QueryError, match="only when it starts"):
        late.wait(PATIENCE)
    paced: Any = session.run(
        "SELECT ts FROM s", engine="spark", trigger="100 milliseconds", conf=["spark.sql.shuffle.partitions=1"]
    )[-1]
    assert paced.wait(PATIENCE) and paced.to_polars().height == 2
