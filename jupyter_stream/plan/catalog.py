"""What has been declared: streams with their time and progress, derived streams. Not for what is running."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from jupyter_stream.aggregates.user import Declared
from jupyter_stream.core.schema import Schema
from jupyter_stream.core.table import TableRows


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
class PunctuationColumn:
    """`WITH (punctuation = 'col')`: rows with a value there are punctuations, for one key if `key` names its column."""

    column: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Unpromised:
    """Nothing is promised before the source ends: the times of `late(name)`."""


Progress: TypeAlias = Watermark | Slack | PunctuationColumn | Unpromised


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
