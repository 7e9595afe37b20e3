"""A query with a checkpoint, killed and started again: nothing lost, nothing twice. And what killed ones leave behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.session import Session
from jupyter_stream.spark.folders import kept, temporary
from jupyter_stream.spark.settings import settings
from tests.oracle.compare import assert_same_bag, plain_rows

SCRIPT = """
import json
import sys
import polars as pl
from jupyter_stream import Session
rows, folder, queries = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
session = Session({"rows": pl.read_parquet(rows)})
conf = ["spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1", "spark.sql.shuffle.partitions=2"]
started = []
for number, (declared, text) in enumerate(queries):
    session.run(declared)
    options = {"engine": "spark", "checkpoint": f"{folder}/{number}", "conf": conf, "trigger": "2 seconds"}
    started.append(session.run(text, name=f"q{number}", **options)[-1])
for query in started:
    query.wait()
"""
"""Starts queries whose input comes slowly."""
DECLARED = """CREATE STREAM s (k STRING, n INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
    SOURCE '{source}'{options}"""
SOON = {"jupyter_stream.stalled": "100 seconds"}
"""Spark's own server of states rarely leaves a task waiting for ever: the query then goes on from its checkpoint."""
SLOWLY = " WITH (rate = '150/s')"
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
}
"""Each with its source and its text."""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30,000 rows, some of them late, in a file."""
    count = 30_000
    at = pl.Series(range(count))
    late = (at * 7919 % 13 == 0).cast(pl.Int64) * (at * 31 % 9) * 1_000_000
    ts = (1_735_689_600_000_000 + at * 20_000 - late).cast(pl.Datetime("us"))
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
def killed(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoints, by number, of queries whose process was killed in mid-run, when each had answered."""
    folder = tmp_path_factory.mktemp("checkpoints")
    script = folder / "script.py"
    script.write_text(SCRIPT)
    queries = json.dumps([(declared(name, rows, SLOWLY), text) for name, (_, text) in QUERIES.items()])
    arguments = [sys.executable, str(script), str(rows), str(folder), queries]
    child = subprocess.Popen(arguments, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    try:
        end = time.monotonic() + 400
        while not all(list(folder.glob(f"{i}/answers/*.arrow")) for i in range(len(QUERIES))):
            assert child.poll() is None and time.monotonic() < end, "they don't get as far as answers"
            time.sleep(0.05)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    return folder


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", QUERIES)
def test_killed_query_goes_on_from_its_checkpoint(
    name: str, rows: Path, killed: Path, sessions: Callable[..., Session]
) -> None:
    text, checkpoint = QUERIES[name][1], killed / str(list(QUERIES).index(name))
    session = sessions(rows=pl.read_parquet(rows))
    session.run(declared(name, rows))
    kernel: Any = session.run(text)[-1]
    assert kernel.wait(60)
    assert not json.loads((checkpoint / "rows0" / ".last").read_text())["ended"], "it was not killed in mid-run"
    again: Any = session.run(text, engine="spark", checkpoint=checkpoint, conf=SOON)[-1]
    assert again.wait(400)
    for ours, theirs in ((again.to_polars(), kernel.to_polars()), (again.late, kernel.late)):
        assert_same_bag(plain_rows(ours), plain_rows(theirs), theirs.columns)
    assert sorted(again.errors.rows()) == sorted(kernel.errors.rows())


def test_ended_query_gives_its_answers_again(rows: Path, tmp_path: Path, sessions: Callable[..., Session]) -> None:
    name, checkpoint = "window", tmp_path / "checkpoint"
    text = QUERIES[name][1]
    session = sessions(rows=pl.read_parquet(rows))
    session.run(declared(name, rows))
    first: Any = session.run(text, engine="spark", checkpoint=checkpoint)[-1]
    assert first.wait(120)
    again: Any = session.run(text, name="again", engine="spark", checkpoint=checkpoint)[-1]
    assert again.wait(60)
    assert_same_bag(plain_rows(again.to_polars()), plain_rows(first.to_polars()), first.to_polars().columns)
    assert again.to_polars().height > 100
    with pytest.raises(QueryError, match="another query"):
        session.run("SELECT k FROM s", engine="spark", checkpoint=checkpoint)


def test_folder_of_something_else_is_no_checkpoint(sessions: Callable[..., Session], tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    session = sessions(rows=pl.DataFrame({"ts": [0]}))
    session.run("CREATE STREAM s (ts BIGINT) ORDER BY ts SOURCE 'frame://rows'")
    with pytest.raises(QueryError, match="something else"):
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


def test_folders_of_killed_processes_are_deleted_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = (
        "from jupyter_stream.spark.folders import temporary; f = temporary(); print(f.path, flush=True); "
        "import time; time.sleep(60)"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
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
    assert not list(tmp_path.iterdir())


def test_settings_say_what_is_wrong_with_them() -> None:
    with pytest.raises(UnsupportedError, match="another machine"):
        settings("yarn", (), None, None)
    with pytest.raises(QueryError, match="no setting"):
        settings(None, ["spark.sql.shuffle.partitions"], None, None)
    with pytest.raises(QueryError, match="no time between"):
        settings(None, (), None, "often")
    made = settings("local[2]", ["a=b=c"], "~/there", "5 seconds")
    assert made.conf == {"a": "b=c"} and made.trigger == 5_000_000
    assert made.checkpoint == Path.home() / "there"


def test_settings_of_spark_go_with_spark(sessions: Callable[..., Session]) -> None:
    session = sessions(rows=pl.DataFrame({"ts": [0, 1]}))
    session.run("CREATE STREAM s (ts BIGINT) ORDER BY ts SOURCE 'frame://rows'")
    with pytest.raises(QueryError, match="engine spark"):
        session.run("SELECT ts FROM s", conf=["a=b"])
    with pytest.raises(QueryError, match="runs already"):
        session.run("SELECT ts FROM s", engine="spark", master="local[7]")
    fixed: Any = session.run("SELECT ts FROM s", engine="spark", conf={"spark.sql.ansi.enabled": "false"})[-1]
    with pytest.raises(QueryError, match="answers would differ"):
        fixed.wait(30)
    late: Any = session.run("SELECT ts FROM s", engine="spark", conf={"spark.driver.memory": "77g"})[-1]
    with pytest.raises(QueryError, match="only when it starts"):
        late.wait(30)
    paced: Any = session.run(
        "SELECT ts FROM s", engine="spark", trigger="100 milliseconds", conf=["spark.sql.shuffle.partitions=1"]
    )[-1]
    assert paced.wait(30) and paced.to_polars().height == 2
