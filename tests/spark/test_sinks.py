"""INSERT on Spark: a micro-batch is a commit. Killed at random moments and started again: nothing lost, nothing twice."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from deltalake import DeltaTable

from jupyter_stream.core.schema import Schema
from jupyter_stream.session.session import Session
from jupyter_stream.sinks import Delivery, Ties
from jupyter_stream.sinks.delta import DELTA
from jupyter_stream.sinks.file import FILE
from jupyter_stream.sinks.numbered_writer import NumberedWriter
from jupyter_stream.sinks.protocol import Mode, SinkConnector, Target
from jupyter_stream.sinks.sqlite import SQLITE
from tests.spark.killed import environment
from tests.tiers import slow
from tests.waiting import until

DECLARED = """CREATE STREAM s (k STRING, n BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
    SOURCE 'file://{rows}' WITH (rate = '500/s')"""
COUNTS = "SELECT k, count(*) AS c, sum(n) AS n FROM s [RANGE 10 SECONDS TUMBLING] GROUP BY k"
TO = {
    "file": "'file://{at}/files/'",
    "delta": "'delta://{at}/table/'",
    "sqlite": "'sqlite://{at}/answers.db?table=a'",
}
SCRIPT = """
import sys
from jupyter_stream import Session
declared, folder, *texts = sys.argv[1:]
session = Session()
session.seen = False  # so executors write the files
session.run(declared)
conf = ["spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC", "spark.sql.shuffle.partitions=2"]
queries = [
    session.run(text, engine="spark", checkpoint=f"{folder}/{i}", conf=conf, trigger="300 milliseconds")[-1]
    for i, text in enumerate(texts)
]
for query in queries:
    query.wait()
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200,000 rows of 4,000 seconds, out of order within what is allowed."""
    at = pl.Series(range(200_000))
    ts = (1_735_689_600_000_000 + at * 20_000 - (at * 7919 % 13) * 300_000).cast(pl.Datetime("us"))
    path = tmp_path_factory.mktemp("input") / "rows.parquet"
    pl.DataFrame({"k": (at % 5).cast(pl.String), "n": at * 17 % 11, "ts": ts}).write_parquet(path)
    return path


def found(at: Path, sink: str) -> pl.DataFrame:
    """What is in a sink."""
    match sink:
        case "file":
            frame = pl.read_parquet(list((at / "files").glob("*.parquet")))
        case "delta":
            frame = pl.DataFrame(pl.from_arrow(DeltaTable(str(at / "table")).to_pyarrow_table()))
        case _:
            with closing(sqlite3.connect(at / "answers.db")) as connection:
                frame = pl.read_database("SELECT * FROM a", connection)
            bounds = pl.col("window_start", "window_end").str.to_datetime(time_unit="us")
            frame = frame.with_columns(bounds)
    return frame.with_columns(pl.selectors.datetime().dt.replace_time_zone(None)).sort("window_end", "k")


def commits(at: Path) -> int:
    """How many there were to the least of the sinks."""
    notes = [sorted(at.glob(f"{i}/written-*[!t]")) for i in range(len(TO))]
    return min((json.loads(n[0].read_text())["commits"] if n else 0) for n in notes)


@slow
@pytest.mark.timeout(900)
def test_killed_in_the_middle_each_sink_has_every_row_once(
    rows: Path, tmp_path: Path, sessions: Callable[..., Session]
) -> None:
    texts = [f"INSERT INTO {to.format(at=tmp_path)} {COUNTS}" for to in TO.values()]
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), DECLARED.format(rows=rows), str(tmp_path), *texts]
    with (tmp_path / "log").open("w") as log:
        child = subprocess.Popen(command, env=environment(tmp_path), stderr=log)
    try:
        until(lambda: commits(tmp_path) > 1 or child.poll() is not None)
        assert child.poll() is None, (tmp_path / "log").read_text()
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    session = sessions()
    session.run(DECLARED.format(rows=rows).partition(" WITH")[0])
    kernel: Any = session.run(COUNTS)[-1]
    kernel.wait()
    expected = kernel.to_polars().sort("window_end", "k")
    for number, sink in enumerate(TO):
        assert 0 < found(tmp_path, sink).height < expected.height, "it was not killed in the middle"
        again: Any = session.run(texts[number], engine="spark", checkpoint=tmp_path / str(number))[-1]
        again.wait()
        assert found(tmp_path, sink).select(expected.columns).equals(expected), sink
        assert again.written == expected.height
        assert again.stats["rows_out"] == expected.height
        if sink == "sqlite":  # of the others' executors wrote what there was before, and it is there alone
            assert again.to_polars().sort("window_end", "k").select(expected.columns).equals(expected)


class Killed(BaseException):
    """The process ends here."""


ROWS = pl.DataFrame({"k": ["a", "b"], "n": [1, 2]})


def writer(connector: SinkConnector, at: Path, note: Path, mode: Mode) -> NumberedWriter:
    """A new process's."""
    options = {"table": "a"} if connector is SQLITE else {}
    uri = f"{connector.scheme}://{at}"
    sink = connector.open(Target(uri, Schema.from_frame(ROWS), mode, (), False, options, {}, "w"))
    order = Delivery("answers", uri, connector, sink, mode, (), 10.0, "w", connector.promise)
    return NumberedWriter(order, Ties(most=1000, nothing=ROWS.clear()), note)


@pytest.mark.parametrize(
    ("connector", "mode"),
    [(FILE, "append"), (DELTA, "append"), (SQLITE, "append"), (DELTA, "replace"), (SQLITE, "replace")],
    ids=lambda c: c if isinstance(c, str) else c.scheme,
)
@pytest.mark.parametrize("noted", ["whole", "torn", "not"])
def test_a_batch_that_comes_again_is_written_once(
    tmp_path: Path, connector: SinkConnector, mode: Mode, noted: str
) -> None:
    at, note = tmp_path / "out", tmp_path / "note"
    for batches in ([0, 1], [0, 1, 2], [2, 3]):  # each time a new process; answers of the first ones come again
        each = writer(connector, at, note, mode)
        each.recall(lambda: True)
        for number in batches:
            each.begin(number)
            each.add(ROWS.with_columns(n=pl.col("n") + 10 * number))
            each.seal(lambda: True)
        each.begin(99)
        each.add(ROWS)  # killed in the middle of it: a micro-batch is written whole or not
        each.end(patient=False)
        until(each.done.is_set)
        assert each.error is None
        if noted == "not":
            note.unlink()  # killed before it was noted: the sink knows
        elif noted == "torn":
            note.write_text(note.read_text()[:-3])
    assert sorted(_numbers(connector, at)) == [1, 2, 11, 12, 21, 22, 31, 32]


def _numbers(connector: SinkConnector, at: Path) -> list[int]:
    if connector is FILE:
        return pl.read_parquet(list(at.glob("*.parquet")))["n"].to_list()
    if connector is DELTA:
        return list(DeltaTable(str(at)).to_pyarrow_table()["n"].to_pylist())
    with closing(sqlite3.connect(at)) as connection:
        return [n for (n,) in connection.execute("SELECT n FROM a")]
