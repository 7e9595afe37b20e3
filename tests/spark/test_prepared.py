"""Times in fields and in texts are the event time on Spark as well."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.engine.test_prepared import EXPECTED, TIMES, run
from tests.tiers import slow


@slow
@pytest.mark.parametrize("declared", TIMES)
def test_a_time_in_a_text_or_a_field_is_the_time(spark: SparkSession, declared: str) -> None:
    rows, reasons = run(f"CREATE STREAM s {declared}", engine="spark")
    assert (rows, reasons) == (EXPECTED, [])
