"""The `StatefulProcessor` whose state is a bucket's operators.

Before a query's first rows Spark starts a Python process that asks the processor for nothing but the names of its states. What
the operators need is imported with the first rows, so that this process, and with it every query, begins about a second sooner.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from jupyter_stream.checkpoints.signing import checked, signed
from jupyter_stream.core.garbage import spare_the_loaded
from jupyter_stream.spark.state_server import in_time


class Operators(StatefulProcessor):  # type: ignore[misc]  # pyspark is not typed here
    """The operators of a bucket.

    Args:
        step: pickled, since it is what needs the operators: what they say of rows and of a watermark, given as they were put
            away (None before the first rows), frames of rows and milliseconds. It gives frames, and in the end the operators.
        patience: seconds that Spark's state server may take for an answer.
        key: signs what is put away.
    """

    def __init__(self, step: bytes, patience: float, key: bytes) -> None:
        self._step = step
        self._key = key
        self._patience = patience

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the states."""
        in_time(handle, self._patience)
        self._handle = handle
        self._state = handle.getValueState("operator", "pickled BINARY")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803  # its names
        """What they say of rows, and of the watermark after them."""
        watermark = timerValues.getCurrentWatermarkInMs()
        new = not self._state.exists()
        yield from self._taken(None if new else self._kept(), rows, watermark)
        if new:
            self._handle.registerTimer(watermark + 1)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803  # its names
        """What they say of a watermark that has no rows."""
        watermark = timerValues.getCurrentWatermarkInMs()
        yield from self._taken(self._kept(), (), watermark)
        self._handle.registerTimer(watermark + 1)

    def close(self) -> None:
        """Nothing is open."""

    @cached_property
    def _say(self) -> Callable[..., Any]:
        say: Callable[..., Any] = pickle.loads(self._step)
        spare_the_loaded()
        return say

    def _kept(self) -> bytes:
        """The operators as they were put away. Raises `ForeignState` where somebody else did."""
        return checked(self._key, bytes(self._state.get()[0]))

    def _taken(self, kept: bytes | None, rows: Iterable[Any], watermark: int) -> Iterator[Any]:
        operators = yield from self._say(kept, rows, watermark)
        self._state.update((signed(self._key, operators),))
