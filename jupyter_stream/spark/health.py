"""How Spark's query is, from the reports of its micro-batches: for EXPLAIN, the strip above a view, and feeds that wait."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any, Final

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.time import show
from jupyter_stream.spark.expressions import SHIFT

_WRITTEN: Final = re.compile(r"\+?(\d+)(-\d\d-\d\dT[\d:.]+Z)")
_CYCLE: Final = 146_097 * 86_400_000_000
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class Health:
    """What the reports of one query have said.

    Attributes:
        control: its control table: state bytes; the last micro-batch (`batch`), how long it took (`batch_ms`), the rows it took a
            second (`rows_per_second`), the rows of its state (`state_rows`) and Spark's `watermark`, where it has one.
        taken: rows Spark has taken in all.
    """

    def __init__(self) -> None:
        self.control = ControlTable("spark")
        self.taken = 0
        self._newest: str | None = None
        self._counted = -1

    def read(self, query: Any) -> bool:
        """Take what Spark's query reports; whether that is new.

        Args:
            query: a `pyspark.sql.streaming.StreamingQuery`.
        """
        last = query.lastProgress
        if last is None or last["timestamp"] == self._newest:
            return False
        self._newest = last["timestamp"]
        for report in query.recentProgress:
            if report["numInputRows"] and report["batchId"] > self._counted:
                self._counted = report["batchId"]
                self.taken += report["numInputRows"]
                self._took_rows(report)
        self.control.extra["batch"] = last["batchId"]
        state = last["stateOperators"]
        self.control.holds(sum(o["memoryUsedBytes"] for o in state))
        self.control.extra["state_rows"] = sum(o["numRowsTotal"] for o in state)
        reached = _micros(last.get("eventTime", {}).get("watermark"))
        if reached is not None:
            self.control.extra["watermark"] = show(-(-reached // 1000) * 1000)  # Spark counts whole milliseconds
        return True

    def took(self, rows: int, seconds: float) -> None:
        """Take what a batch job did, in the place of all micro-batches."""
        self.taken += rows
        self.control.extra["batch"] = 0
        report = {"batchDuration": round(seconds * 1000), "processedRowsPerSecond": rows / max(seconds, 0.001)}
        self._took_rows(report)

    def _took_rows(self, report: Mapping[str, Any]) -> None:
        self.control.extra["batch_ms"] = report["batchDuration"]
        self.control.extra["rows_per_second"] = round(report["processedRowsPerSecond"])

    @property
    def notes(self) -> dict[str, str]:
        """For the strip: short facts by label."""
        known = self.control.extra
        found = {}
        if "batch_ms" in known:
            found["spark"] = f"{known['rows_per_second']:,}/s"
            found["batch"] = f"{float(known['batch_ms']) / 1000:.1f} s"
        if "watermark" in known:
            found["watermark"] = str(known["watermark"])
        if known.get("state_rows"):
            found["state rows"] = f"{known['state_rows']:,}"
        return found


def _micros(watermark: str | None) -> int | None:
    """A watermark of Spark's in microseconds of our streams; None before it has one, and after the end of the input."""
    found = _WRITTEN.fullmatch(watermark or "")
    if found is None:
        return None
    cycles, year = divmod(
        int(found[1]) - 2000, 400
    )  # shifted times are beyond Python's calendar, which goes in 400 years
    at = dt.datetime.fromisoformat(f"{year + 2000}{found[2]}")
    micros = (at - _EPOCH) // dt.timedelta(microseconds=1) + cycles * _CYCLE - SHIFT
    return micros if abs(micros) < SHIFT else None
