"""Queries on Spark Connect: the answers, late rows and errors of the kernel, fetched from a sink of Spark's memory."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jupyter_stream.errors import UnsupportedError
from jupyter_stream.spark import remote
from jupyter_stream.spark.settings import settings
from tests.tiers import slow

ROOT = Path(__file__).parents[2]
SCRIPT = """
import time
import polars as pl
from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.connect.client import DefaultChannelBuilder
from jupyter_stream import Session
from jupyter_stream.errors import UnsupportedError
from tests.oracle.compare import assert_same_bag, plain_rows
from tests.spark.test_same_as_kernel import DECLARED, OURS, QUERIES, ROWS, assert_same

def port():
    service = "org.apache.spark.sql.connect.service.SparkConnectService$"
    return getattr(getattr(SparkContext._jvm, service), "MODULE$").localPort()

# a free port, and its own for all clients: at the usual one another Spark may be listening
DefaultChannelBuilder.default_port = staticmethod(port)
builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
builder = builder.config("spark.connect.grpc.binding.port", "0")
spark = builder.config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC").getOrCreate()
session = Session({"spark": spark, "rows": ROWS})
session.run(DECLARED)
made = []
new = type(spark).newSession
type(spark).newSession = lambda self: made.append(new(self)) or made[-1]
try:
    session.run(QUERIES["union"], engine="spark", checkpoint="here")
except UnsupportedError as error:
    assert "checkpoint" in str(error)
for text in (QUERIES["rows that fail"], QUERIES["ungrouped, with empty extents"], OURS["OVER, sums beyond BIGINT"]):
    kernel, found = (session.run(text, engine=engine, conf=conf)[-1] for engine, conf in
                     (("kernel", ()), ("spark", ["spark.sql.shuffle.partitions=2"])))
    assert kernel.wait(200) and found.wait(800), "it doesn't end"
    assert kernel.to_polars().height > 2
    assert_same(kernel, found)
    print("same", flush=True)
ROWS.write_parquet("archive.parquet")
over = session.over(found.name, "file://archive.parquet", engine="spark", conf=["spark.sql.shuffle.partitions=2"])
assert over.wait(800) and over.to_polars().height > 2 and over.snapshot().error is None
end = time.monotonic() + 200
while any(not s.client.is_closed for s in made) and time.monotonic() < end:
    time.sleep(0.1)  # a query's own thread lets go of its session after the query has ended
left = [s for s in made if not s.client.is_closed]
assert len(made) == 4 and not left, left  # a client left open would ask the stopped server again and again at the end
session.close()
spark.stop()
print("stopped", flush=True)
"""


@slow
@pytest.mark.timeout(900)
def test_queries_on_spark_connect_give_what_the_kernel_gives_and_leave_nothing_open(tmp_path: Path) -> None:
    # a process of its own: PySpark is of one kind in each
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.split() == ["same"] * 3 + ["stopped"]


@slow
def test_a_server_that_does_not_answer_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_PATIENCE", 0.1)
    closed = threading.Event()

    class Client:
        def release_session(self) -> None:
            closed.wait(200)

        def close(self) -> None:
            closed.set()

    remote.release(type("Session", (), {"client": Client()}))
    assert closed.is_set()


class SparkSession:
    """A session as far as `check` looks at it."""

    __module__ = "pyspark.sql.connect.session"

    def __init__(self, host: str = "localhost", master: str = "local[2]", stopped: bool = False) -> None:
        self.is_stopped = stopped
        self.client = type("Client", (), {"host": host})
        self.conf = {"spark.master": master}

    def newSession(self) -> None:
        """Only that it is there is asked."""


@pytest.mark.parametrize(
    ("session", "checkpoint", "says"),
    [
        (SparkSession("spark.example.org"), None, "on spark.example.org"),
        (SparkSession(master="yarn"), None, "on yarn"),
        (SparkSession(stopped=True), None, "stopped"),
        (SparkSession(), "here", "checkpoint"),
    ],
)
def test_what_spark_connect_cannot_do_is_said(session: SparkSession, checkpoint: str | None, says: str) -> None:
    assert remote.is_remote(session)
    with pytest.raises(UnsupportedError, match=says):
        remote.check(session, settings(None, (), checkpoint, None))
