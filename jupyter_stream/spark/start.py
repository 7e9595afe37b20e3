"""A Spark session: the notebook's own, or one of ours, made when the first query needs it. Not for queries."""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import socket
import sys
import threading
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from jupyter_stream.checkpoints.folders import temporary
from jupyter_stream.errors import QueryError, StreamError, UnsupportedError
from jupyter_stream.spark import archive, remote
from jupyter_stream.spark.console import launched
from jupyter_stream.spark.settings import Settings, check_shared, here
from jupyter_stream.spark.worker_python import worker_python

SOCKETS: Final = "spark.python.unix.domain.socket.enabled"
"""The setting of Spark's whether it and its Python processes meet at files, where no other program comes by, not at ports."""
_JAVA: Final = "spark.driver.extraJavaOptions"
_OURS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    SOCKETS: str(hasattr(socket, "AF_UNIX")).lower(),
    "spark.python.authenticate.socketTimeout": "60s",  # a busy machine starts Python slowly
    _JAVA: f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}",
}
_LOCAL: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.authenticate": "true",  # Spark makes the secret, and hands it to its own processes alone
}
"""Of a Spark on this machine alone: no other machine can reach it, and no other user's program can talk to it."""
_PYTHON: Final = "spark.pyspark.python"
"""The setting of Spark's for the Python that executors start; only `spark-submit` heeds it."""
_QUERY: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    # with the default of 200 a windowed count on two cores is 15 times slower
    "spark.sql.shuffle.partitions": str(min(8, os.cpu_count() or 2)),
    "spark.sql.adaptive.enabled": "false",
    # files of a trickle are small and many, and here: by default a micro-batch of 300 of them begins with a job of 300 tasks that
    # lists them, and goes on with a task for every 32
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    "spark.sql.files.openCostInBytes": "65536",
}

_MANAGER: Final = "spark.sql.streaming.checkpointFileManagerClass"
_CHECKPOINTING: Final = "org.apache.spark.sql.execution.streaming.checkpointing"
_QUICK: Final = f"{_CHECKPOINTING}.FileSystemBasedCheckpointFileManager"
"""What writes a checkpoint that is this query's alone. By default Spark starts a program (`readlink`, `chmod`) several times for
each file; this one looks whether a name is taken and then renames: so of two queries with one checkpoint both may write."""

_FIXED: Final = frozenset({"spark.sql.session.timeZone", "spark.sql.ansi.enabled"})
"""Answers would differ from the kernel's."""

_ELSEWHERE: Final = frozenset({"SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE"})
"""What tells PySpark to be a client of Spark Connect."""

_lock = threading.Lock()
_made: Any = None


def check(namespace: Mapping[str, object], settings: Settings) -> None:
    """Raise `UnsupportedError` if there is nothing that Spark could run on, saying what to install.

    Raises:
        QueryError: a Spark runs already, with another master.
    """
    found = _own(namespace) or _made
    if found is not None:
        if remote.is_remote(found):
            remote.check(found, settings)
        runs_on = remote.master(found)
        if settings.master not in (None, runs_on):
            raise QueryError(
                f"Spark runs already, on {runs_on}, and can't move to {settings.master}",
                hint="Leave --master out, or restart the kernel and give it with the first query on Spark.",
            )
        check_shared(runs_on, settings.checkpoint)
        return
    if importlib.util.find_spec("pyspark") is None:
        raise UnsupportedError("PySpark is not installed", hint="Install it: pip install pyspark.")
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and (Path(home) / "bin" / "java").exists()):
        raise UnsupportedError(
            "Spark needs Java, which is not installed",
            hint="Install Java 17 or 21 (such as the package openjdk-17-jre-headless), or set JAVA_HOME. "
            "Without --engine spark the query runs in the kernel.",
        )


def session(namespace: Mapping[str, object], settings: Settings) -> Any:
    """A `SparkSession` for one query, with its own settings on the shared Spark: UTC, ANSI mode, few shuffle partitions.

    The user's settings come last. Raises `StreamError` for one that can't be changed once Spark runs.

    Called in threads of ours: PySpark then leaves the notebook's SIGINT handler alone, which it replaces on the main thread, so
    that interrupting a cell would end what Spark is doing.
    """
    # the tests run with it, and the warning would stand red under the cell
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    with _lock:
        base = _own(namespace) or _ours(settings)
        found = base.newSession()
        if not remote.is_remote(base):
            _prepare(base, settings)
    for key, value in _QUERY.items():
        found.conf.set(key, value)
    if settings.checkpoint is None and not remote.is_remote(base):
        _write_quickly(found.conf)
    for key, value in settings.conf.items():
        told = found.conf.get(key, None)
        if told is not None and value in (told, told.removeprefix(f"{_OURS[_JAVA]} ")):
            continue
        if key not in _FIXED and found.conf.isModifiable(key):
            found.conf.set(key, value)
        elif key in _FIXED or remote.is_remote(base) or base.sparkContext.getConf().get(key) != value:
            raise StreamError(
                f"{key} can't be {value} in a query"
                + (": answers would differ" if key in _FIXED else ": Spark takes it only when it starts")
            )
    return found


def _write_quickly(conf: Any) -> None:
    """Checkpoints by a quicker way than Spark's default, unless it was started with one."""
    if conf.get(_MANAGER, None) is None:
        conf.set(_MANAGER, _QUICK)


def starts(namespace: Mapping[str, object]) -> bool:
    """Whether the next query will have to start Spark."""
    return _made is None and _own(namespace) is None


def _own(namespace: Mapping[str, object]) -> Any:
    """The notebook's variable `spark`, if it is a session."""
    value = namespace.get("spark")
    if "pyspark" not in sys.modules or value is None:
        return None
    if remote.is_remote(value):
        return value
    from pyspark.sql import SparkSession

    if isinstance(value, SparkSession):
        if value.sparkContext._jsc is None:
            raise UnsupportedError("the variable spark holds a session that was stopped", hint="Delete it: del spark.")
        return value
    return None


def _prepare(base: Any, settings: Settings) -> None:
    """See that executors find a Python to start, and in it this package.

    Raises:
        UnsupportedError: they are elsewhere, and have no folder in which they could find rows.
    """
    context = base.sparkContext
    if here(context.master):
        if "PYSPARK_PYTHON" not in os.environ:
            context.pythonExec = worker_python()  # or it would be whatever python3 is on the path
        return
    check_shared(context.master, settings.checkpoint)
    context.pythonExec = settings.conf.get(_PYTHON, context.pythonExec)
    if not any(Path(name).name == archive.NAME for name in context._python_includes):
        made = temporary().path / archive.NAME  # until the process ends
        archive.write(made)
        paths = list(sys.path)
        context.addPyFile(str(made))
        sys.path[:] = paths  # this process has what is in it


def _on_this_machine(master: str) -> bool:
    """Whether a master is `local`, `local[2]`, `local[*]`: one process, that of the driver."""
    return master == "local" or master.startswith("local[")


def _ours(settings: Settings) -> Any:
    global _made
    if _made is None:
        from pyspark import SparkConf, SparkContext
        from pyspark.sql import SparkSession

        submitted = "PYSPARK_GATEWAY_PORT" in os.environ
        if submitted:  # by spark-submit, whose process has the settings
            SparkContext._ensure_initialized()
        conf = SparkConf()
        conf.setMaster(settings.master or (conf.get("spark.master") if submitted else None) or "local[*]")
        conf.setAppName("jupyter-stream")
        mine = {k: v for k, v in settings.conf.items() if k not in _FIXED}
        if _JAVA in mine:  # of two that say one thing Java takes the second
            mine[_JAVA] = f"{_OURS[_JAVA]} {mine[_JAVA]}"
        closed = _LOCAL if _on_this_machine(conf.get("spark.master")) else {}
        conf.setAll([*{**_OURS, **closed, **mine}.items()])
        # else PySpark has its process already, that of a session that was stopped, or is told to go to another machine's
        if SparkContext._gateway is None and not _ELSEWHERE & os.environ.keys():
            SparkContext(conf=conf, gateway=launched(conf))
        _made = SparkSession.builder.config(conf=conf).getOrCreate()
        logging.getLogger("SQLQueryContextLogger").disabled = True
    return _made
