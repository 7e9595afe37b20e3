"""Every kind of source on Spark, killed and started again: what was read is in the answers once."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_stream.session.session import Session
from tests.oracle.compare import assert_same_bag, plain_rows
from tests.spark.killed import environment
from tests.tiers import slow

SCRIPT = """
import datetime as dt
import itertools
import json
import sys
import time
from jupyter_stream import Session
folder, queries = sys.argv[1], json.loads(sys.argv[2])
START = dt.datetime(2025, 1, 1)

def items():
    for i in range(20_000):
        yield {"n": i * 17 % 11, "ts": START + dt.timedelta(milliseconds=100 * i - 4_000 * (i % 13 == 0) * (i % 7))}
        time.sleep(0.03)  # ten minutes in all: it is killed long before

def passing():
    for i in itertools.count():
        yield {"n": i, "ts": START + dt.timedelta(seconds=i)}
        time.sleep(0.02)

session = Session({"items": items, "live": passing()})
conf = ["spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC", "spark.sql.shuffle.partitions=2"]
started = []
for name, (declared, text) in queries.items():
    session.run(declared)
    options = {"engine": "spark", "checkpoint": f"{folder}/{name}", "conf": conf, "trigger": "2 seconds"}
    started.append(session.run(text, name=name, **options)[-1])
for query in started:
    query.wait()
"""
PYTHON = "CREATE STREAM s (n INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS) SOURCE 'python://{name}'"
COUNTED = "SELECT n % 3 AS r, count(*) AS c, sum(n) AS n FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY n % 3"
PACKETS = """CREATE STREAM s (protocol STRING, len INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 1 SECONDS)
    SOURCE 'generate://packets?rows=20000&per_second=50&disorder=band&bound=4 seconds' WITH (seed = 3{rate})"""
REPLAYED = {
    "callable": (PYTHON.format(name="items"), COUNTED),
    "generate": (PACKETS, "SELECT protocol, sum(len) OVER (PARTITION BY protocol ROWS 5 PRECEDING) AS n FROM s"),
}
"""Sources that give the same rows again, by name, each with a query."""
LIVE = {
    "iterator": (PYTHON.format(name="live"), "SELECT row_num, n FROM s"),
    "system": (
        "CREATE STREAM s (ts TIMESTAMP) ORDER BY ts SOURCE 'system://memory' WITH (every = '100 milliseconds')",
        "SELECT row_num, ts FROM s",
    ),
}
"""Sources that give no row twice."""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoints of queries whose process was killed when each had answered, and the live ones some time."""
    folder = tmp_path_factory.mktemp("checkpoints")
    script = folder / "script.py"
    script.write_text(SCRIPT)
    queries = {n: (d.format(rate=", rate = '30/s'"), q) for n, (d, q) in {**REPLAYED, **LIVE}.items()}
    arguments = [sys.executable, str(script), str(folder), json.dumps(queries)]
    child = subprocess.Popen(arguments, env=environment(folder))
    try:
        while not all(len(list(folder.glob(f"{name}/answers/*.arrow"))) > 1 for name in queries):
            assert child.poll() is None, "they don't get as far as answers"
            time.sleep(0.05)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    return folder


def items() -> Iterator[dict[str, object]]:
    """Those of the script, at once."""
    start = dt.datetime(2025, 1, 1)
    for i in range(20_000):
        yield {"n": i * 17 % 11, "ts": start + dt.timedelta(milliseconds=100 * i - 4_000 * (i % 13 == 0) * (i % 7))}


@slow
@pytest.mark.timeout(1800)  # a net for what never ends: nothing below goes by the clock
@pytest.mark.parametrize("name", REPLAYED)
def test_rows_that_come_again_count_once(name: str, killed: Path, sessions: Callable[..., Session]) -> None:
    declared, text = REPLAYED[name]
    session = sessions(items=items)
    session.run(declared.format(rate=""))
    kernel: Any = session.run(text)[-1]
    assert kernel.wait()
    assert not json.loads((killed / name / "rows0" / ".last").read_text())["ended"], "it was not killed in mid-run"
    again: Any = session.run(text, name="again", engine="spark", checkpoint=killed / name)[-1]
    assert again.wait()
    assert kernel.to_polars().height > 100 and kernel.late.height > 10
    for ours, theirs in ((again.to_polars(), kernel.to_polars()), (again.late, kernel.late)):
        assert_same_bag(plain_rows(ours), plain_rows(theirs), theirs.columns)


@slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", LIVE)
def test_rows_that_come_no_more_are_kept(name: str, killed: Path, sessions: Callable[..., Session]) -> None:
    """They are numbered on, whatever the source gives after the restart."""
    declared, text = LIVE[name]

    def passing() -> Iterator[dict[str, object]]:
        for i in itertools.count(1_000_000):
            yield {"n": i, "ts": dt.datetime(2025, 2, 1) + dt.timedelta(seconds=i)}
            time.sleep(0.02)

    session = sessions(live=passing())
    session.run(declared)
    read = json.loads((killed / name / "rows0" / ".last").read_text())["rows"]
    again: Any = session.run(text, name="again", engine="spark", checkpoint=killed / name)[-1]
    while again.to_polars().height < read + 20:
        assert again.status in ("waiting", "running"), again.snapshot().error
        time.sleep(0.1)
    again.stop()
    found = again.to_polars().sort("row_num")
    assert found.get_column("row_num").to_list() == list(range(1, found.height + 1)) and read > 10
    if name == "iterator":
        more = found.height - read
        assert found.get_column("n").to_list() == [*range(read), *range(1_000_000, 1_000_000 + more)]
    else:
        assert found.get_column("ts").diff().drop_nulls().min() > dt.timedelta(0)


@slow
def test_rows_after_an_end_are_used_unless_it_made_answers_final(
    sessions: Callable[..., Session], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And then there is word of it."""
    queries = {"plain": "SELECT row_num, n FROM s", "window": "SELECT sum(n) AS n FROM s [RANGE 10 SECONDS TUMBLING]"}

    def passing(first: int) -> Iterator[dict[str, object]]:
        for i in range(first, first + 20):
            yield {"n": i, "ts": dt.datetime(2025, 1, 1) + dt.timedelta(seconds=i)}

    def run(first: int) -> list[Any]:
        session = sessions()
        started = []
        for name, text in queries.items():
            session.namespace[name] = passing(first)
            session.run("DROP STREAM IF EXISTS s; " + PYTHON.format(name=name))
            started.append(session.run(text, name=f"q_{name}", engine="spark", checkpoint=tmp_path / name)[-1])
        assert all(q.wait() for q in started)
        return started

    for query in run(0):
        assert query.snapshot().hint is None and not query.errors.height
    assert not [r.getMessage() for r in caplog.records if "had ended" in r.getMessage()]
    plain, window = run(20)
    assert plain.to_polars().sort("row_num").rows() == [(i + 1, i) for i in range(40)]
    assert plain.snapshot().hint is None and not plain.errors.height
    assert window.to_polars().get_column("n").to_list() == [45, 145]
    assert "s had ended" in window.snapshot().hint and "another --checkpoint" in window.snapshot().hint
    assert window.errors.height == window.snapshot().bad == 20
    assert set(window.errors.get_column("reason")) == {
        "it came after the end of its stream, as recorded in the query's checkpoint"
    }
    assert [r.name for r in caplog.records if "s had ended" in r.getMessage()] == ["jupyter_stream.spark.run"]
