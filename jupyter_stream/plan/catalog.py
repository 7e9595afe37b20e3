"""What has been declared: streams with their time and progress, derived streams. Not for what is running."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, TypeAlias, runtime_checkable
from weakref import WeakKeyDictionary

import polars as pl

from jupyter_stream.aggregates.user import Declared
from jupyter_stream.core.schema import Schema
from jupyter_stream.core.table import TableRows
from jupyter_stream.core.time import parse_duration, show_duration
from jupyter_stream.functions import Expr, OwnFunction
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
class Kept:
    """`CREATE STREAM ... WHERE predicate`: other rows of the source are none of the stream's, and count for nothing."""

    predicate: Expr


@dataclass(frozen=True, slots=True)
class Computed:
    """Columns computed from those before: (name, expression), one for each column there then is."""

    items: tuple[tuple[str, Expr], ...]


Step: TypeAlias = Kept | Computed
"""What is done to the rows of a source before they are rows of the stream."""


AHEAD_OF_CLOCK: Final = 86_400_000_000
"""A day, in microseconds: how far rows of a live stream may be ahead of the clock, where nobody says."""
AHEAD: Final = 3_650 * 86_400_000_000
"""Ten years, in microseconds: a row that is further beyond the clock and all rows before it would end the stream for them."""


@dataclass(frozen=True, slots=True)
class Enabling:
    """When enabling time stamps are made: promises by the clock that no earlier row comes, while none does [stream-mill].

    Attributes:
        every: microseconds between two of a periodic stream; 0 for on demand, when an operator waits for the stream; None for
            never.
    """

    every: int | None = 0

    @classmethod
    def parse(cls, text: str) -> Enabling | None:
        """`on demand`, `none`, or `periodic` with a length of time; None where it is nothing of the kind."""
        words = text.strip().lower().split(maxsplit=1)
        if words == ["on", "demand"]:
            return ON_DEMAND
        if words == ["none"]:
            return cls(None)
        every = parse_duration(words[1]) if len(words) == 2 and words[0] == "periodic" else None
        return cls(every) if every is not None and every >= 1_000 else None

    def __str__(self) -> str:
        if self.every is None:
            return "none"
        return f"periodic {show_duration(self.every)}" if self.every else "on demand"


ON_DEMAND: Final = Enabling()
ENABLINGS: Final = "'on demand', 'periodic 100 ms' (a millisecond or longer) and 'none'"
"""What `Enabling.parse` reads, in words."""


@dataclass(frozen=True, slots=True)
class TimeSpec:
    """Where a stream's event time comes from [stream-mill].

    Attributes:
        kind: external (a column), internal (stamped on arrival), latent (stamped by the first operator that needs it).
        column: the column, for external streams; for the others, the name the time has in results (`current_time`).
        progress: how punctuations arise.
        idle_timeout: microseconds after which an idle live external stream is advanced by the clock, None for never.
        assumed: whether nobody said it: the column is the only TIMESTAMP there is.
        ahead: microseconds a row may be ahead; None for any.
        ahead_of: of what: the clock, the rows before it, or both at once.
        dates: whether the column holds dates, read as midnight in UTC.
        enabling: when enabling time stamps are made; None as the session says.
        undecided: of a latent stream, the TIMESTAMP columns of which any could be its time; a query that needs a time asks.
    """

    kind: Literal["external", "internal", "latent"]
    column: str | None
    progress: Progress
    idle_timeout: int | None = None
    assumed: bool = False
    undecided: tuple[str, ...] = ()
    ahead: int | None = AHEAD
    ahead_of: Literal["clock", "rows", "both"] = "both"
    enabling: Enabling | None = None
    dates: bool = False

    @property
    def by_clock(self) -> bool:
        """Whether the clock can say how far the stream is."""
        return self.kind != "external" or self.idle_timeout is not None


class OpenSource(Protocol):
    """The part of a source the catalog needs; `sources.protocol.Source` is the whole."""

    schema: Schema
    replayable: bool
    units: Mapping[str, str]


@runtime_checkable
class ForTables(Protocol):
    """A source whose rows have no order in which they arrived: it is for tables alone."""

    for_tables: bool


@runtime_checkable
class Retypes(Protocol):
    """A source that has found the types of its columns, and can give some of them in others."""

    def retyped(self, schema: Schema) -> OpenSource:
        """The same rows with these types."""


@runtime_checkable
class Peeked(Protocol):
    """A source whose first rows can be looked at."""

    def peek(self) -> pl.DataFrame:
        """Some of them."""


@runtime_checkable
class OfFiles(Protocol):
    """A source that reads files, as it says to others who read them."""

    delimiters: Mapping[str, str]
    """What separates the fields of CSV, by kind (`csv`, `tsv`)."""
    in_folders: bool
    """Whether some columns stand in the names of folders."""


@runtime_checkable
class Tells(Protocol):
    """A source that says how it reads what it found when it was opened, where that isn't plain."""

    notes: Sequence[str]
    """Sentences."""


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
        refresh: microseconds from one reading of a table's source to the next; None where it is read once.
        table: for a table, its rows; None for a stream.
        retroactive: whether its changes revise what was joined with it before.
        constraints: what is promised of its rows besides (stream paper §2; CIDR paper §4.1).
        by_address: whether no statement declares it: a query names where its rows are.
        steps: what becomes of the source's rows before they are the stream's; none where they are as they come.
    """

    name: str
    schema: Schema
    time: TimeSpec
    uri: str
    source: OpenSource
    options: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    refresh: int | None = None
    table: TableRows | None = None
    retroactive: bool = False
    constraints: tuple[Constraint, ...] = ()
    by_address: bool = False
    steps: tuple[Step, ...] = ()

    @property
    def base(self) -> Schema:
        """The columns of its source."""
        return self.source.schema if self.steps else self.schema

    @property
    def clustered(self) -> Clustered | None:
        """By which column its rows come in clusters, if by any."""
        return next((c for c in self.constraints if isinstance(c, Clustered)), None)


@dataclass(frozen=True, eq=False)
class DerivedStream:
    """CREATE STREAM name AS SELECT ...: a name for a bound plan. `query` is a `plan.logical.BoundQuery`; `ordered`: by time."""

    name: str
    schema: Schema
    query: object
    text: str = ""
    ordered: bool = False


Entry: TypeAlias = StreamDef | DerivedStream


class Catalog:
    """Declared names, matched without regard to case."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self.aggregates: dict[str, Declared] = {}  # user-defined ones, by name in lower case
        self.functions: dict[str, OwnFunction] = {}  # those in SQL, by name in lower case
        self.summaries: dict[str, SummaryDef] = {}  # by name in lower case
        self.recursions: WeakKeyDictionary[object, StreamDef] = (
            WeakKeyDictionary()
        )  # by what is written of their rounds

    def find(self, name: str) -> Entry | None:
        """What was declared under that name, None if nothing was."""
        return self._entries.get(name.lower())

    def meant(self, name: str) -> Entry | None:
        """What a FROM means by a name: what was declared, or what else a front end has rows of."""
        return self.find(name)

    @property
    def frames(self) -> tuple[str, ...]:
        """Names that `meant` would find besides what was declared."""
        return ()

    def advice(self, _name: str) -> str | None:
        """What to write for a name that `meant` doesn't find, None if nothing is known of it."""
        return None

    def reading(self, rows: TableRows) -> OpenSource:
        """A source of the rows of a table that nobody declared."""
        raise NotImplementedError("the catalog of a session reads tables")

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
