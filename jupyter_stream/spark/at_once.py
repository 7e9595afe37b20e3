"""A batch job of Spark's that can be stopped."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import Any, Final

from jupyter_stream.core import threads

_LOOK: Final = 0.05
"""Seconds between two looks whether the job is to be stopped."""
_numbers = itertools.count(1)


def answered(spark: Any, ask: Callable[[], object], stopping: threads.Event) -> object:
    """What a job gives; None if it was stopped.

    Args:
        spark: a `pyspark.sql.SparkSession` of this process.
        ask: has Spark do the job, in a thread of its own.
        stopping: set when nobody waits for it any more: Spark is told to stop its tasks.

    Raises:
        Exception: what Spark raises.
    """
    context = spark.sparkContext
    # not the session's addTag: its interruptTag finds the tags of the thread that calls it alone
    tag = f"jupyter-stream-{os.getpid()}-{next(_numbers)}"
    found: threads.Answer[object] = threads.Answer()

    def run() -> None:
        context.addJobTag(tag)
        try:
            found.give(ask())
        except BaseException as error:
            found.fail(error)
        finally:
            context.removeJobTag(tag)

    def failed(error: BaseException | None) -> None:
        if not found.done():
            found.fail(error or RuntimeError("the thread that waits for Spark ended"))

    threads.begin("jupyter-stream spark batch", run, failed)
    while not found.wait(_LOOK):
        if stopping.is_set():
            context.cancelJobsWithTag(tag)  # again and again: a job may be about to begin
    try:
        return found.result()
    except Exception:
        if stopping.is_set():
            return None
        raise
