"""A stream and a query over it, as data: what the oracle computes and what users would type. Not for parsing."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

from tests.oracle.aggregates import Aggregate
from tests.oracle.predicates import Predicate
from tests.oracle.progress import (
    Apart,
    Arrived,
    Clusters,
    InOrder,
    KeyedPunctuation,
    Progress,
    PunctuationColumn,
    Slack,
    Watermark,
    judge,
)
from tests.oracle.values import Row
from tests.oracle.windows import Lifetime, NewestRows, RowExtents, Sessions, TimeExtents, TupleExtents, Window

EPOCH = dt.datetime(1970, 1, 1)


def instant(micros: int) -> str:
    """A time as a SQL timestamp literal shows it."""
    return (EPOCH + dt.timedelta(microseconds=micros)).isoformat(sep=" ")


def duration(micros: int) -> str:
    """A length of time in its largest whole unit."""
    for size, unit in ((3_600_000_000, "HOUR"), (60_000_000, "MINUTE"), (1_000_000, "SECOND"), (1_000, "MILLISECOND")):
        if micros % size == 0:
            return f"{micros // size} {unit}{'' if micros == size else 'S'}"
    return f"{micros} MICROSECOND{'' if micros == 1 else 'S'}"


@dataclass(frozen=True)
class Stream:
    """A declared stream and everything that will ever arrive on it.

    Attributes:
        columns: (name, SQL type), the time among them.
        time: the column of event times.
        progress: how punctuations arise.
        rows: in arrival order; times are microseconds.
        name: as declared.
        clusters: the column its rows come in clusters by.
        reference: a FOREIGN KEY, as declared.
    """

    columns: tuple[tuple[str, str], ...]
    time: str
    progress: Progress
    rows: tuple[Row, ...]
    name: str = "s"
    clusters: Clusters | None = None
    reference: str = ""

    def arrived(self) -> list[Arrived]:
        arrived = judge(list(self.rows), self.time, self.progress)
        return arrived if self.clusters is None else self.clusters.judge(arrived)

    def sql(self, uri: str) -> str:
        """CREATE STREAM."""
        parts = [f"{name} {kind}" for name, kind in self.columns]
        options = ""
        if self.reference:
            parts.append(self.reference)
        if self.clusters is not None:
            parts.append(f"CONSTRAINT CLUSTERED ({self.clusters.column}) WITHIN {self.clusters.rows} ROWS")
        if isinstance(self.progress, Watermark):
            parts.append(f"WATERMARK FOR {self.time} AS {self.time} - INTERVAL {duration(self.progress.delay)}")
        elif isinstance(self.progress, InOrder) and self.progress.declared:
            parts.append(f"WATERMARK FOR {self.time} AS {self.time}")
        elif isinstance(self.progress, Apart):
            parts.append(f"CONSTRAINT ORDERED ({self.time}) WITHIN {self.progress.rows} ROWS")
        elif isinstance(self.progress, Slack):
            options = f" WITH (slack = '{self.progress.rows} rows')"
        elif isinstance(self.progress, KeyedPunctuation):
            options = f" WITH (punctuation = '{self.progress.column}', punctuation_key = '{self.progress.key}')"
        elif isinstance(self.progress, PunctuationColumn):
            options = f" WITH (punctuation = '{self.progress.column}')"
        order = "" if parts[-1].startswith("WATERMARK") else f" ORDER BY {self.time}"
        return f"CREATE STREAM {self.name} ({', '.join(parts)}){order} SOURCE '{uri}'{options}"


@dataclass(frozen=True)
class Query:
    """Aggregates of one stream per group and extent, or as a relation.

    Attributes:
        stream: what it reads.
        window: what chooses the instants, or a `Lifetime` for a relation.
        aggregates: what it computes; their columns are called a0, a1, ...
        keys: grouping columns.
        where: WHERE.
        having: HAVING, over the columns of the result.
        emit_every: microseconds of EMIT EVERY, None for EMIT FINAL.
    """

    stream: Stream
    window: Window
    aggregates: tuple[Aggregate, ...]
    keys: tuple[str, ...] = ()
    where: Predicate | None = None
    having: Predicate | None = None
    emit_every: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the result's columns, in order."""
        bounds = ("window_start", "window_end") if not isinstance(self.window, Lifetime) else ()
        return (*bounds, *self.keys, *(f"a{i}" for i in range(len(self.aggregates))))

    def passes(self, row: Row) -> bool:
        return self.where is None or self.where.truth(row) is True

    def keeps(self, result: Row) -> bool:
        return self.having is None or self.having.truth(result) is True

    def sql(self) -> str:
        """The SELECT."""
        window, source, group = self.window, self.stream.name, list(self.keys)
        after_last = ""
        if isinstance(window, NewestRows):
            source += f" {window.written}"
        elif isinstance(window, Lifetime):
            source += f" {window.clause}" if window.clause else ""
        elif isinstance(window, RowExtents):
            if window.paper:
                after_last = f" {window.clause}"
            else:
                source += f" {window.clause}"
            if window.partition and set(group) <= set(window.partition):
                group = []  # partition columns may be selected without grouping
        elif isinstance(window, Sessions):
            ts = window.on or self.stream.time
            if window.spelling == "table function":
                source = f"SESSION({source}, {ts}, INTERVAL {window.written})"
            elif window.spelling == "group by":
                group.append(f"session_window({ts}, '{window.written}')")
            else:
                source += f" {window.clause}"
            if window.partition and set(self.keys) <= set(window.partition):
                group = []
        elif isinstance(window, TupleExtents):
            clause = f" [{window.clause(duration(window.range), self.stream.time)}]"
            source, after_last = (source, clause) if window.paper else (source + clause, "")
        elif window.spelling == "table function":
            assert window.range is not None
            ts = window.on or self.stream.time
            sizes = [window.range] if window.range == window.slide else [window.slide, window.range]
            name = "TUMBLE" if len(sizes) == 1 else "HOP"
            source = f"{name}({source}, {ts}, {', '.join(f'INTERVAL {duration(s)}' for s in sizes)})"
        elif window.spelling == "group by":
            assert window.range is not None
            ts = window.on or self.stream.time
            slide = "" if window.range == window.slide else f", '{duration(window.slide)}'"
            group.append(f"window({ts}, '{duration(window.range)}'{slide})")
        elif window.spelling == "paper":
            span = "ALL" if window.range is None else duration(window.range)
            ts = window.on or self.stream.time
            after_last = f" [RANGE {span}, SLIDE {duration(window.slide)}, WA {ts}]"
        else:
            source += f" [{self._bracket(window)}]"
        items = [*self.keys, *(f"{a.sql()} AS a{i}" for i, a in enumerate(self.aggregates))]
        if after_last:
            items[-1] = f"{self.aggregates[-1].sql()}{after_last} AS a{len(self.aggregates) - 1}"
        text = f"SELECT {', '.join(items)} FROM {source}"
        if self.where:
            text += f" WHERE {self.where.sql()}"
        if group:
            text += f" GROUP BY {', '.join(group)}"
        if self.having:
            text += f" HAVING {self.having.sql()}"
        if self.emit_every:
            text += f" EMIT EVERY {duration(self.emit_every)}"
        return text

    @staticmethod
    def _bracket(window: TimeExtents) -> str:
        on = f" ON {window.on}" if window.on else ""
        origin = "" if window.origin is None else f" ORIGIN TIMESTAMP '{instant(window.origin)}'"
        if window.range is None:
            return f"RANGE ALL SLIDE {duration(window.slide)}{window.word}{on}{origin}"
        if window.spelling == "tumbling":
            return f"RANGE {duration(window.range)} TUMBLING{on}{origin}"
        return f"RANGE {duration(window.range)} SLIDE {duration(window.slide)}{window.word}{on}{origin}"


@dataclass
class Answer:
    """What a query should give.

    Attributes:
        rows: the final rows, in the query's columns; a relation's state at the last input time.
        late: for each row that missed an answer: the row, the punctuation it broke, how many extents it missed (None
            for relations).
        snapshots: with EMIT EVERY, for each tick the time of its row and the provisional rows it gives.
        changes: for a relation, (at, op, row) of its net changes.
    """

    rows: list[Row]
    late: list[tuple[Row, int, int | None]] = field(default_factory=list)
    snapshots: list[tuple[int, list[Row]]] = field(default_factory=list)
    changes: list[tuple[int, int, Row]] = field(default_factory=list)
