"""One Spark for all tests of a run, small and quick to start; a session of its own for those that want other settings."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jupyter_stream.session.session import Session
from jupyter_stream.spark.start import SOCKETS
from jupyter_stream.spark.worker_python import worker_python
from tests.waiting import PATIENCE

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Settings with which Spark compiles no expression: quicker where there are many, and few rows."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The session, as a notebook's own `spark` variable."""
    from pyspark import SparkContext
    from pyspark.java_gateway import ensure_callback_server_started
    from pyspark.sql import SparkSession

    home = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.driver.memory": "2g",  # hundreds of queries run in it one after the other
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(home),
        SOCKETS: "true",  # clients of other tests go on trying ports of servers that are gone
        "spark.python.authenticate.socketTimeout": "120s",  # a busy machine starts Python slowly
        # the run is too short for the second compiler, and two cores have no other to collect garbage meanwhile; without that
        # compiler code has a fifth of the room, and much of the time would go into making some for a thousand queries
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m",
    }
    builder = SparkSession.builder.master("local[2]").appName("tests")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    worker_python()  # its folder is made once, by whichever query comes first
    session.sparkContext.setLogLevel("OFF")
    logging.getLogger("SQLQueryContextLogger").disabled = True
    gateway = session.sparkContext._gateway
    # for each file Java starts a program that sets its permissions, and for its sum of bytes another one
    files = session._jvm.org.apache.hadoop.fs.FileSystem.getLocal(session._jsc.hadoopConfiguration())
    files.setWriteChecksum(False)
    ensure_callback_server_started(gateway)  # it lasts, whichever query wants it first
    yield session
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()  # by which Java knows
    gateway.proc.wait(PATIENCE)
    SparkContext._gateway = SparkContext._jvm = None


@pytest.fixture(scope="session")
def interpreting(spark: Any) -> Any:
    """A session beside it, in UTC and strict, that interprets expressions: quicker than to compile a thousand of them."""
    session = spark.newSession()
    for key, value in {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true", **INTERPRETED}.items():
        session.conf.set(key, value)
    return session


@pytest.fixture
def sessions(spark: Any) -> Iterator[Callable[..., Session]]:
    """Makes sessions whose queries run on the shared Spark, and closes them."""
    opened: list[Session] = []

    def make(**names: object) -> Session:
        opened.append(Session({"spark": spark, **names}))
        return opened[-1]

    yield make
    for session in opened:
        session.close()
