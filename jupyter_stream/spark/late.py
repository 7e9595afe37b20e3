"""Late rows of a query on Spark: told of once, when it is known what they missed. Of the engine's thread alone.

What a row missed is known at once where its way to the first window is judged here (`judge`), and comes back with the answers
where operators inside Spark say it. Not for which rows are late: the stream's feed tells, and what earlier runs promised
(`promised`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from jupyter_stream.core.messages import BROKEN, BROKEN_BY_ALL, LATE_ID, TS, Int64s, Missed, ints
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.spark.inlet import Inlet


@dataclass(frozen=True, slots=True)
class LateReport:
    """What operators inside Spark said of late rows of a stream.

    Attributes:
        inlet: where those came in.
        missed: which they are.
        named: the same rows as they went through derived streams, by name.
    """

    inlet: Inlet
    missed: Missed
    named: list[tuple[str, pl.DataFrame]]


class SparkLateRows:
    """The late rows of one query.

    Args:
        feeds: where each feed enters the query; grows.
        on_missed: told of late rows that missed an answer: the feed, which they are, and the rows if they aren't of the batch
            under way, or the feed doesn't know them.

    Attributes:
        count: how many there were.
        named: those of the batch under way, under the names of the derived streams they went through.
    """

    def __init__(
        self,
        feeds: Mapping[Any, list[Inlet]],
        on_missed: Callable[[Any, Missed, pl.DataFrame | None], None],
    ) -> None:
        self.count = 0
        self.named: list[tuple[str, pl.DataFrame]] = []
        self._feeds = feeds
        self._on_missed = on_missed
        self._listed: Int64s = np.empty(0, np.int64)  # those of the batch under way that have been told of
        self._of_keys: Int64s = np.empty(0, np.int64)  # late for their key only, and of no interest to operators
        self._untold: list[LateReport] = []

    def begin(self) -> None:
        """A batch comes."""
        self._listed = self._of_keys = np.empty(0, np.int64)

    def missed(self, feed: Any, missed: Missed, rows: pl.DataFrame | None) -> None:
        """Rows of the batch under way missed answers; each is listed once, however many inputs of this query it came to.

        Args:
            feed: where they came from.
            missed: which they are.
            rows: the late rows, where more are than the feed knows.
        """
        if len(self._feeds[feed]) > 1 or feed.ingest.constrained:
            new = np.isin(missed.late_ids, self._listed, invert=True)
            self._listed = np.append(self._listed, missed.late_ids)
            missed = missed.those(new)
        if missed.late_ids.size:
            self.count += missed.late_ids.size
            self._on_missed(feed, missed, rows)

    def broke(self, feed: Any, missed: Missed, *, also_late: bool) -> None:
        """Rows of the batch under way broke a constraint.

        Args:
            feed: where they came from.
            missed: which they are, `broken` of those that are late by the stream's progress as well being MIN_TIME.
            also_late: whether those are to be told of, too. If not, operators tell of them, but for those they make nothing of.
        """
        if not also_late and missed.broken is not None:
            missed = missed.those((missed.broken != MIN_TIME) | np.isin(missed.late_ids, self._of_keys))
        self.missed(feed, missed, None)

    def keep(self, inlet: Inlet, frame: pl.DataFrame) -> None:
        """Rows on their way to operators inside Spark: the late ones are kept until those say what they missed."""
        if LATE_ID in frame.columns:
            late = frame.filter(pl.col(LATE_ID).is_not_null())
            inlet.late.append(late)
            if inlet.unheard and BROKEN_BY_ALL in late.columns:
                of_keys = pl.col(BROKEN).is_not_null() & (pl.col(TS) >= pl.col(BROKEN_BY_ALL))
                self._of_keys = ints(late.filter(of_keys).get_column(LATE_ID))
            self.tell()

    def tell(self, more: Iterable[LateReport] = ()) -> None:
        """Late rows missed answers, as operators inside Spark said."""
        untold, self._untold = [*self._untold, *more], []
        for late in untold:
            inlet, missed = late.inlet, late.missed
            rows = pl.concat(inlet.late, how="diagonal") if inlet.late else None
            known = np.isin(missed.late_ids, [] if rows is None else ints(rows.get_column(LATE_ID)))
            feed = next((f for f, inlets in self._feeds.items() if inlet in inlets), None)
            if feed is not None and rows is not None and known.any():
                found = Missed(missed.late_ids[known], None if missed.missed is None else missed.missed[known])
                self.count += found.late_ids.size
                self.named = late.named
                self._on_missed(feed, found, rows)
            if not known.all():  # started again from a checkpoint, answers come before the rows
                rest = None if missed.missed is None else missed.missed[~known]
                self._untold.append(LateReport(inlet, Missed(missed.late_ids[~known], rest), late.named))
