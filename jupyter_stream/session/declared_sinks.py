"""What a sink is to a session: its declaration, and what a handle says of the writing to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from jupyter_stream.core.counting import counted
from jupyter_stream.core.schema import Schema
from jupyter_stream.sinks import SinkWriter
from jupyter_stream.sinks.protocol import Mode, Promise


@dataclass(frozen=True, slots=True)
class SinkDef:
    """A declared sink, or an address that is written to without one.

    Attributes:
        name: its name; None for an address alone.
        schema: its columns; None for those of the query.
        uri: what stands behind TO.
        options: as written.
        text: the statement.
    """

    name: str | None
    schema: Schema | None
    uri: str
    options: Mapping[str, str]
    text: str = ""

    @property
    def same(self) -> tuple[object, ...]:
        """What makes two of them one."""
        return self.name, self.uri, tuple(sorted(self.options.items())), self.schema


@dataclass(frozen=True, slots=True)
class SinkStatus:
    """How writing to one sink of a query goes.

    Attributes:
        name: the sink's name, or its address.
        uri: its address, without passwords.
        mode: how answers are written.
        promise: how often a row is there in the end.
        written: rows (and deletions) committed.
        refused: rows it will never take, which are in `errors(name)` and `q.errors`.
        lost: answers that were not written when the query was stopped, as the sink was away.
        commits: how many there were.
        last_commit: when the last one was, in UTC; None before the first.
        trouble: what keeps it from writing, a sentence; None while all is well.
    """

    name: str
    uri: str
    mode: Mode
    promise: Promise
    written: int
    refused: int
    lost: int
    commits: int
    last_commit: datetime | None
    trouble: str | None


def status(writer: SinkWriter) -> SinkStatus:
    """How it goes just now."""
    at = writer.last_commit
    order = writer.order
    return SinkStatus(
        order.name,
        order.uri,
        order.mode,
        order.promise,
        writer.written,
        writer.refused,
        writer.lost,
        writer.commits,
        None if at is None else datetime.fromtimestamp(at, UTC),
        writer.trouble,
    )


def notes(writers: Iterable[SinkWriter]) -> dict[str, str]:
    """What the strip shows: rows written, and when the last commit was, by the clock of this machine."""
    found = list(writers)
    said = {}
    for writer in found:
        label = "written" if len(found) == 1 else f"written to {writer.order.name}"
        at = writer.last_commit
        when = "" if at is None else f" at {datetime.fromtimestamp(at):%H:%M:%S}"
        said[label] = f"{writer.written:,}{when}"
    return said


def trouble(writers: Iterable[SinkWriter]) -> str | None:
    """What a view says of sinks that are away, or that refuse rows."""
    for writer in writers:
        if writer.trouble is not None:
            return f"Sink {writer.order.name}: {writer.trouble}"
    for writer in writers:
        if writer.refused:
            where = "" if "://" in writer.order.name else f" They are in errors({writer.order.name})."
            return f"Sink {writer.order.name} refused {counted(writer.refused, 'row')}: q.errors has them.{where}"
    return None
