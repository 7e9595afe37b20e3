"""A batch job of Spark's that can be stopped."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import Any, Final

from jupyter_stream.core import threads
from jupyter_stream.spark.progress import Progress, Stalled
from jupyter_stream.spark.remote import is_remote

_LOOK: Final = 0.05
"""Seconds between two looks whether the job is to be stopped."""
_numbers = itertools.count(1)


class _Batch:
    """A job by the name that Spark knows it by: what it has done so far, and its end."""

    def __init__(self, spark: Any, patience: float) -> None:
        self._spark = spark
        self._context = None if is_remote(spark) else spark.sparkContext
        self._name = f"jupyter-stream-{os.getpid()}-{next(_numbers)}"
        self._progress = Progress(self._context, patience)

    def done(self, ask: Callable[[], object]) -> object:
        """What it gives. For a thread of its own."""
        if self._context is None:
            self._spark.addTag(self._name)
        else:
            # not by the session's tags: its interruptTag finds those of the thread that calls it alone
            self._context.setJobGroup(self._name, "all rows at once")
        try:
            return ask()
        finally:
            if self._context is None:
                self._spark.removeTag(self._name)
            else:
                self._context.setLocalProperty("spark.jobGroup.id", None)

    def stalled(self) -> bool:
        return self._progress.stalled(self._name, tuple)

    def cancel(self) -> None:
        if self._context is None:
            self._spark.interruptTag(self._name)
        else:
            self._context.cancelJobGroup(self._name)


def answered(spark: Any, ask: Callable[[], object], stopping: threads.Event, patience: float) -> object:
    """What a job gives; None if it was stopped.

    Args:
        spark: a `pyspark.sql.SparkSession`.
        ask: has Spark do the job, in a thread of its own.
        stopping: set when nobody waits for it any more: Spark is told to stop its tasks.
        patience: seconds in which some task is to end.

    Raises:
        Stalled: none did; the job is told to stop.
        Exception: what Spark raises.
    """
    batch = _Batch(spark, patience)
    found: threads.Answer[object] = threads.Answer()

    def run() -> None:
        try:
            found.give(batch.done(ask))
        except BaseException as error:
            found.fail(error)

    def failed(error: BaseException | None) -> None:
        if not found.done():
            found.fail(error or RuntimeError("the thread that waits for Spark ended"))

    threads.begin("jupyter-stream spark batch", run, failed)
    while not found.wait(_LOOK):
        if stopping.is_set():
            batch.cancel()  # again and again: a job may be about to begin
        elif batch.stalled():
            batch.cancel()
            raise Stalled(patience)
    try:
        return found.result()
    except Exception:
        if stopping.is_set():
            return None
        raise
