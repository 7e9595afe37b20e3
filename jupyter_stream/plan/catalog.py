"""What has been declared: streams with their time and progress, derived streams. Not for what is running."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from jupyter_stream.aggregates.user import Declared
from jupyter_stream.core.schema import Schema
from jupyter_stream.core.table import TableRows
from jupyter_stream.core.time import show_duration
from jupyter_stream.plan.preference import SummaryDef


@dataclass(frozen=True, slots=True)
class Watermark:
    """`WATERMARK FOR ts AS ts - INTERVAL d`: punctuation `max(ts) - delay`. A delay of 0 is the in-order default.

    Attributes:
        delay: microseconds.
        declared: whether the user wrote it (else late rows bring a hint to).
    """

    delay: int
    declared: bool = True


@dataclass(frozen=True, slots=True)
class Slack:
    """`WITH (slack = 'n rows')`: a row comes after at most `rows` rows that are newer."""

    rows: int


@dataclass(frozen=True, slots=True)
class Apart:
    """`CONSTRAINT ORDERED (ts) WITHIN n ROWS`: rows more than `rows` rows apart are in order (ordered-arrival-k [stream])."""

    rows: int


@dataclass(frozen=True, slots=True)
class PunctuationColumn:
    """`WITH (punctuation = 'col')`: rows with a value there are punctuations, for one key if `key` names its column."""

    column: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Unpromised:
    """Nothing is promised before the source ends: the times of `late(name)`."""


Progress: TypeAlias = Watermark | Slack | Apart | PunctuationColumn | Unpromised


@dataclass(frozen=True, slots=True)
class Clustered:
    """`CONSTRAINT CLUSTERED (column) WITHIN rows ROWS`: at most so many other rows between consecutive rows of one value.

    A value that more of them came after is over (clustered-arrival-k [stream]). NULLs are no value.
    """

    column: str
    rows: int

    def __str__(self) -> str:
        return f"clustered by {self.column} within {self.rows} row{'' if self.rows == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Ordered:
    """`CONSTRAINT ORDERED (column) WITHIN ...` of the time column, which is how the stream progresses.

    Attributes:
        column: the time column.
        progress: what is promised: `Apart` for rows, `Watermark` for a length of time.
    """

    column: str
    progress: Apart | Watermark

    def __str__(self) -> str:
        if isinstance(self.progress, Apart):
            rows = self.progress.rows
            return f"ordered by {self.column} within {rows} row{'' if rows == 1 else 's'}"
        return f"ordered by {self.column} within {show_duration(self.progress.delay)}"


@dataclass(frozen=True, slots=True)
class References:
    """`FOREIGN KEY (columns) REFERENCES stream (theirs) WITHIN within`: referential integrity-k [stream].

    Each row has a partner, the one row of the other stream with these values, whose time is at most `within` microseconds
    after its own. A row with a NULL among them has none.
    """

    columns: tuple[str, ...]
    stream: str
    theirs: tuple[str, ...]
    within: int

    def __str__(self) -> str:
        theirs = "" if self.theirs == self.columns else f" ({', '.join(self.theirs)})"
        return f"{', '.join(self.columns)} refers to {self.stream}{theirs} within {show_duration(self.within)}"


Constraint: TypeAlias = Clustered | Ordered | References


@dataclass(frozen=True, slots=True)
class TimeSpec:
    """Where a stream's event time comes from [stream-mill].

    Attributes:
        kind: external (a column), internal (stamped on arrival), latent (stamped by the first operator that needs it).
        column: the column, for external streams; for the others, the name the time has in results (`current_time`).
        progress: how punctuations arise.
        idle_timeout: microseconds after which an idle live external stream is advanced by the clock, None for never.
    """

    kind: Literal["external", "internal", "latent"]
    column: str | None
    progress: Progress
    idle_timeout: int | None = None


class OpenSource(Protocol):
    """The part of a source the catalog needs; `sources.protocol.Source` is the whole."""

    schema: Schema
    replayable: bool
    units: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class StreamDef:
    """A declared stream.

    Attributes:
        name: as declared.
        schema: its columns.
        time: its event time and progress.
        uri: SOURCE, for DESCRIBE.
        source: the opened connector.
        options: the WITH options.
        text: the statement.
        table: for a table, its rows; None for a stream.
        retroactive: whether its changes revise what was joined with it before.
        constraints: what is promised of its rows besides (stream paper §2; CIDR paper §4.1).
    """

    name: str
    schema: Schema
    time: TimeSpec
    uri: str
    source: OpenSource
    options: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    table: TableRows | None = None
    retroactive: bool = False
    constraints: tuple[Constraint, ...] = ()

    @property
    def clustered(self) -> Clustered | None:
        """By which column its rows come in clusters, if by any."""
        return next((c for c in self.constraints if isinstance(c, Clustered)), None)


@dataclass(frozen=True, eq=False)
class DerivedStream:
    """CREATE STREAM name AS SELECT ...: a name for a bound plan. `plan` is a `plan.logical.Query`."""

    name: str
    schema: Schema
    query: object
    text: str = ""


Entry: TypeAlias = StreamDef | DerivedStream


class Catalog:
    """Declared names, matched without regard to case."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self.aggregates: dict[str, Declared] = {}  # user-defined ones, by name in lower case
        self.summaries: dict[str, SummaryDef] = {}  # by name in lower case

    def find(self, name: str) -> Entry | None:
        """What was declared under that name, None if nothing was."""
        return self._entries.get(name.lower())

    def add(self, entry: Entry) -> None:
        """Declare it; a former entry of that name is replaced."""
        self._entries[entry.name.lower()] = entry

    def drop(self, name: str) -> bool:
        """Forget it; False if there was nothing to forget."""
        return self._entries.pop(name.lower(), None) is not None

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    @property
    def names(self) -> tuple[str, ...]:
        """Names as declared."""
        return tuple(e.name for e in self)
