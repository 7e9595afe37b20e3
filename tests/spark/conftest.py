"""What tests here share: a query that Spark leaves waiting goes on before its test gives up; and how to be alone."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jupyter_stream.session import run_options
from jupyter_stream.spark import job
from jupyter_stream.spark.job import SparkJob
from jupyter_stream.spark.settings import Settings, settings
from jupyter_stream.spark.worker_python import worker_python
from tests.leftovers import shared
from tests.waiting import PATIENCE, until

BATCH = SparkJob._all_came
SOON = 100.0
"""Seconds. Spark's own server of states rarely leaves a task waiting for ever: the query then goes on from its checkpoint."""


@pytest.fixture(autouse=True, scope="module")
def soon() -> Iterator[None]:
    """Queries that don't say how long they may get nowhere are given less than their tests wait for them."""

    def sooner(*words: Any) -> Settings:
        made = settings(*words)
        return replace(made, stalled=SOON) if made.stalled == Settings().stalled else made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_options, "settings", sooner)
        yield


@pytest.fixture(autouse=True)
def streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows that are all there would be answered by one batch job: here they are to show what streams do."""
    monkeypatch.setattr(SparkJob, "_all_came", lambda job, spark: False)


def allow_batch_jobs(patch: pytest.MonkeyPatch) -> None:
    """Have them answered by that job, however long it takes until they are there."""
    patch.setattr(SparkJob, "_all_came", BATCH)
    patch.setattr(job, "_GATHER", PATIENCE)


@pytest.fixture
def at_once(streamed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for this test, which is about that job."""
    allow_batch_jobs(monkeypatch)


@pytest.fixture
def alone() -> None:
    """No query of an earlier test is still being stopped: it deletes folders, and may log."""

    def at_work() -> list[str]:
        names = [t.name for t in threading.enumerate() if t.name.startswith("jupyter-stream spark ")]
        return [n for n in names if n != "jupyter-stream spark console"]

    until(lambda: not at_work(), at_work)


@pytest.fixture
def own_temporary(alone: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which all temporary folders of this process are made, and nobody's but this test's."""
    with shared():
        worker_python()  # its folder is made once, by whichever query comes first
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path
