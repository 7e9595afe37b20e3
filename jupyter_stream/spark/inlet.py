"""Where a stream enters a query on Spark: the judge of its rows, their spool, and what late ones wait for."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import polars as pl

from jupyter_stream.core.messages import ROW
from jupyter_stream.flow.progress_for_all import ForAll
from jupyter_stream.graph.graph import Boundary, Entry
from jupyter_stream.plan.catalog import StreamDef, Watermark
from jupyter_stream.plan.keyed import key_promised
from jupyter_stream.spark.judge import Judge, Way
from jupyter_stream.spark.linked_files import LinkedFiles, WholeFile
from jupyter_stream.spark.spool import Spool

Files: TypeAlias = Sequence[tuple[Path, int]]
"""Parquet files that hold a stream's columns in types Spark reads as ours, each with its number of rows, in the order read."""


class Inlet:
    """Where a stream enters the query.

    Attributes:
        way: its path up to the first window.
        judge: judges its rows.
        spool: its rows on their way to Spark.
        boundaries: from which times on its rows miss no final answer, given a punctuation.
        needed: the columns Spark sees.
        late: its late rows, where operators inside Spark say which of them missed answers.
        unheard: whether these operators make nothing of promises for one key, and say nothing of rows that broke one.
        handed: its files, where Spark reads them.

    Args:
        again: whether the rows of an earlier run come again, in their order.
        ticks: whether provisional answers are to be given as rows come.
        paced: whether Spark takes a few files at a time.
    """

    def __init__(
        self,
        way: Way,
        folder: Path,
        columns: frozenset[str],
        inside: Sequence[Entry] = (),
        files: Files | None = None,
        *,
        again: bool = False,
        ticks: bool = False,
        paced: bool = False,
    ) -> None:
        self.way = way
        self.judge = Judge(way)
        self.unheard = all(e.target is not None and isinstance(e.target.step.operator, ForAll) for e in inside)
        self.boundaries: list[Boundary] = [e.boundary for e in inside] if inside else [way.boundary]
        self.needed = columns if way.base is way.scan else frozenset(way.base.schema.names)
        self.handed: LinkedFiles | None = None
        time = None
        if files is not None and not inside and self._only_times:
            time = way.scan.stream.time.column
            self.handed = LinkedFiles(files, [n for n in way.base.schema.names if n in self.needed])
        schema = way.base.schema
        key = key_promised(way.scan.stream) if inside else None
        if key is not None:
            self.needed |= {key}
        self._goes_on = not way.scan.stream.source.replayable
        self.spool = Spool(
            folder,
            schema,
            self.needed,
            way.time_column,
            again=again,
            promises=bool(inside),
            key=key,
            ticks=ticks,
            handed=time,
            delay=None if inside else self.delay,
            # where rows are kept for answers, all of those were made final then
            reopens=self._goes_on and not inside and way.stage is None,
            paced=paced,
        )
        self.ticked = 0.0
        self._notes = again and self._goes_on and self.by_clock
        self._by_rows = False  # whether the next promise is one that rows have made
        self._by_clock: int | None = None  # a promise that none has, and no row has come after
        self.late: deque[pl.DataFrame] = deque(maxlen=10_000)

    @property
    def by_clock(self) -> bool:
        """Whether the clock may promise more of its stream than its rows do, which Spark can't see from them."""
        time = self.stream.time
        return time.kind != "external" or (time.idle_timeout is not None and not self.stream.source.replayable)

    @property
    def closed(self) -> bool:
        """Whether its stream goes on after an end that an earlier run has made answers final by."""
        return self._goes_on and self.spool.closed

    @property
    def all_there(self) -> bool:
        """Whether its rows are there to be read, as fast as they can be."""
        return self.stream.source.replayable and "rate" not in self.stream.options

    @property
    def stream(self) -> StreamDef:
        """The stream."""
        return self.way.scan.stream

    @property
    def _only_times(self) -> bool:
        """Whether nothing but their times has to be known of rows before Spark sees them."""
        way, stream = self.way, self.stream
        plain = way.base is way.scan and way.time_column is None and not self.judge.needed and not stream.constraints
        return plain and stream.time.kind == "external" and isinstance(stream.time.progress, Watermark)

    def promised(self, value: int) -> None:
        """The stream has promised that no row before `value` will come."""
        self.spool.said(value)
        if not self._by_rows:
            self._by_clock = value
        self._by_rows = False

    def recalled(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Rows that came, those marked that are late by what earlier runs promised of a stream that goes on.

        Args:
            frame: with `$row` where there is a checkpoint.
        """
        if self._notes and self._by_clock is not None:
            self.spool.promised.note(int(frame.get_column(ROW)[0]) - 1, self._by_clock)
        self._by_rows, self._by_clock = True, None
        return self.spool.promised.marked(frame) if self._goes_on else frame

    def put(self, judged: pl.DataFrame, left: pl.DataFrame) -> None:
        """Take rows that were judged.

        Args:
            judged: the rows that came, with `$row` where files are handed over.
            left: those of them that are for Spark.
        """
        if self.handed is None:
            self.spool.put(left)
        elif judged.height:
            self._hand(self.handed.judged(int(judged.get_column(ROW)[-1]), left))

    def end(self) -> None:
        """No more rows will come."""
        if self.handed is not None:
            self._hand(self.handed.rest())
        self.spool.end()

    def _hand(self, files: Iterable[WholeFile]) -> None:
        for file in files:
            if not (file.as_it_is and self.spool.hand(file.path, file.rows)):
                for frame in file.frames(self.stream.time.column or ""):
                    self.spool.put(frame)

    @property
    def delay(self) -> int | None:
        """How late its rows may be, microseconds; None if nothing is promised before the end."""
        if self.way.time_column is not None:
            return None
        time = self.stream.time
        if time.kind != "external":
            return 0
        return time.progress.delay if isinstance(time.progress, Watermark) else None
