"""What Spark's reports say of a query, as the strip above its view shows it. No Spark is needed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from jupyter_stream.spark.health import Health


def report(number: int, rows: int, watermark: str | None = None, **more: Any) -> dict[str, Any]:
    """A report as Spark writes it, of what is read of it."""
    return {
        "timestamp": f"2026-01-01T00:00:{number:02}.000Z",
        "batchId": number,
        "numInputRows": rows,
        "batchDuration": 1500,
        "processedRowsPerSecond": rows / 1.5,
        "stateOperators": [
            {"memoryUsedBytes": 700, "numRowsTotal": 1200},
            {"memoryUsedBytes": 300, "numRowsTotal": 34},
        ],
        "eventTime": {} if watermark is None else {"watermark": watermark},
        **more,
    }


def of(*reports: dict[str, Any]) -> Any:
    return SimpleNamespace(lastProgress=reports[-1] if reports else None, recentProgress=list(reports))


def test_reports_are_counted_once() -> None:
    health = Health()
    assert not health.read(of())
    first, second = report(0, 3000), report(1, 600)
    assert health.read(of(first)) and not health.read(of(first))
    assert health.read(of(first, second))
    assert health.taken == 3600
    assert health.control.bytes == 1000 and health.control.extra["state_rows"] == 1234
    assert health.notes == {"spark": "400/s", "batch": "1.5 s", "state rows": "1,234"}


def test_batches_without_rows_leave_the_rate_as_it_was() -> None:
    health = Health()
    health.read(of(report(0, 3000)))
    health.read(of(report(0, 3000), report(1, 0)))
    assert health.notes["spark"] == "2,000/s"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("+38558-12-17T09:30:06.846Z", "2024-05-01 12:00:00"),  # of the kernel's 2024, as Spark is told it
        ("1970-01-01T00:00:00.000Z", None),
        ("+182672-01-01T00:00:00.000Z", None),
    ],
)
def test_watermark_is_that_of_the_stream(written: str, shown: str | None) -> None:
    health = Health()
    health.read(of(report(0, 1, written)))
    assert health.notes.get("watermark") == shown
