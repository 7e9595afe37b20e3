"""Which of Spark's ways to write a checkpoint a query takes: the quick one where it is the query's alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jupyter_stream.spark import start
from jupyter_stream.spark.settings import Settings
from tests.tiers import slow

OTHER = "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"


@slow
@pytest.mark.parametrize(("checkpoint", "used"), [(None, start._QUICK), ("kept", None)])
def test_checkpoints_that_are_kept_are_written_as_spark_does(
    checkpoint: str | None, used: str | None, spark: Any, tmp_path: Path
) -> None:
    folder = None if checkpoint is None else tmp_path / checkpoint
    session = start.session({"spark": spark}, Settings(checkpoint=folder))
    assert session.conf.get(start._MANAGER, None) == used


@slow
def test_one_that_spark_was_started_with_stays(spark: Any) -> None:
    conf = spark.newSession().conf
    conf.set(start._MANAGER, OTHER)
    start._write_quickly(conf)
    assert conf.get(start._MANAGER) == OTHER


@slow
def test_spark_has_it(spark: Any) -> None:
    assert spark._jvm.java.lang.Class.forName(start._QUICK).getName() == start._QUICK
