"""Where a stream enters a query on Spark: the judge of its rows, their spool, and what late ones wait for."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from jupyter_stream.operators.graph import Boundary, Entry
from jupyter_stream.plan.catalog import StreamDef, Watermark
from jupyter_stream.spark.judge import Judge, Way
from jupyter_stream.spark.spool import Spool


class Inlet:
    """Where a stream enters the query.

    Attributes:
        way: its path up to the first window.
        judge: judges its rows.
        spool: its rows on their way to Spark.
        boundaries: from which times on its rows miss no final answer, given a punctuation.
        needed: the columns Spark sees.
        late: its late rows, where operators inside Spark say which of them missed answers.
    """

    def __init__(self, way: Way, folder: Path, columns: frozenset[str], inside: Sequence[Entry] = ()) -> None:
        self.way = way
        self.judge = Judge(way)
        self.boundaries: list[Boundary] = [e.boundary for e in inside] if inside else [way.boundary]
        self.needed = columns if way.base is way.scan else frozenset(way.base.schema.names)
        again = way.scan.stream.source.replayable
        schema = way.base.schema
        self.spool = Spool(folder, schema, self.needed, way.time_column, again=again, promises=bool(inside))
        self.ticked = 0.0
        self.late: deque[pl.DataFrame] = deque(maxlen=10_000)

    @property
    def stream(self) -> StreamDef:
        """The stream."""
        return self.way.scan.stream

    @property
    def delay(self) -> int | None:
        """How late its rows may be, microseconds; None if nothing is promised before the end."""
        if self.way.time_column is not None:
            return None
        time = self.stream.time
        if time.kind != "external":
            return 0
        return time.progress.delay if isinstance(time.progress, Watermark) else None
