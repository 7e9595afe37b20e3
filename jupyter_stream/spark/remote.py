"""Spark Connect: a notebook's session that only speaks to a Spark elsewhere in this machine. Not for Spark on other machines.

There no function of this process can be called back with a micro-batch, so that answers wait in a sink of Spark's memory and are
fetched from there as they come.
"""

from __future__ import annotations

import threading
import uuid
from typing import Any, Final

from jupyter_stream.core import logs
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.spark.expressions import quoted
from jupyter_stream.spark.settings import CLUSTER, Settings

log = logs.of(__name__)

_PATIENCE: Final = 5.0
"""Seconds a server has to release a session."""
_HERE: Final = ("localhost", "127.0.0.1", "::1", "[::1]")


def is_remote(value: object) -> bool:
    """Whether it is a session of Spark Connect."""
    kind = type(value)
    return kind.__name__ == "SparkSession" and kind.__module__.startswith("pyspark.sql.connect")


def master(spark: Any) -> str:
    """Where the Spark of a session runs."""
    return str(spark.conf.get("spark.master", "") if is_remote(spark) else spark.sparkContext.master)


def check(spark: Any, settings: Settings) -> None:
    """Raise `UnsupportedError` if a session of Spark Connect can't run a query so.

    Args:
        spark: the session.
        settings: how the query is to run.
    """
    if spark.is_stopped:
        raise UnsupportedError("the variable spark holds a session that was stopped", hint="Delete it: del spark.")
    if not hasattr(spark, "newSession"):
        raise UnsupportedError(
            "Spark Connect needs PySpark 4.3 or later here", hint="Use a classic session, or update it."
        )
    host = spark.client.host
    if host not in _HERE:
        raise UnsupportedError(
            f"the variable spark is a session on {host}, which can't read this machine's files", hint=CLUSTER
        )
    if not master(spark).startswith("local"):
        raise UnsupportedError(
            f"the variable spark is a session on {master(spark)}, which can't read this machine's files", hint=CLUSTER
        )
    if settings.checkpoint is not None:
        raise UnsupportedError(
            "on Spark Connect a query can't go on from a checkpoint: its answers are kept in Spark's memory "
            "only until the query ends",
            hint="Leave --checkpoint out, or use a classic session.",
        )


def release(spark: Any) -> None:
    """Let go of a query's own session, on the server as well if that answers soon.

    A client that isn't closed asks its server once more when the process ends, and where that has stopped before, asks again and
    again for minutes. `spark.stop()` is not for this: it stops a local server, with all its sessions.
    """
    asking = threading.Thread(target=_released, args=(spark.client,), name="jupyter-stream release", daemon=True)
    asking.start()
    asking.join(_PATIENCE)
    spark.client.close()


def _released(client: Any) -> None:
    try:
        client.release_session()
    except Exception:  # the server has stopped, or forgotten it
        log.debug("releasing a session", exc_info=True)


class MemorySink:
    """Where the answers of a query wait on Spark Connect: a table that grows by whole micro-batches.

    Args:
        spark: the query's session.
    """

    def __init__(self, spark: Any) -> None:
        self.name: Final = f"jupyter_stream_{uuid.uuid4().hex}"
        self._spark = spark
        self._taken = 0
        self._batch: object = None

    def news(self, query: Any, *, last: bool = False) -> Any:
        """What has come since the last time, as a `pyarrow.Table`; None if nothing has.

        Args:
            query: Spark's query.
            last: whether it has ended: what it reported last may not be what it did last.
        """
        progress = query.lastProgress
        batch = None if progress is None else progress["batchId"]
        if not last and (batch is None or batch == self._batch):
            return None
        self._batch = batch
        table = self._spark.table(quoted(self.name)).offset(self._taken).toArrow()
        self._taken += table.num_rows
        return table if table.num_rows else None
