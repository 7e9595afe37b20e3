"""What a source is: something that hands over typed frames until it ends or is told to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeGuard, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.core import threads
from jupyter_stream.core.figures import Figures
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.core.share import Share

if TYPE_CHECKING:
    from jupyter_stream.sources.late_fields import LateFields

BATCH_ROWS = 65_536
"""Rows joined or handed over at once where they come in small lots."""
REPLAY_ROWS = 4 * BATCH_ROWS
"""Rows a replay hands over at once: two threads then meet a quarter as often (66 M rows/s through the engine, 47 before)."""
PEEKED_ROWS = 1_000
"""Rows of a frame that are looked at when a stream over it is declared."""

_REMARKS = 20
"""Remarks of one read that are kept."""

REJECTED = Schema.of((("raw", pl.String()), ("reason", pl.String())))
"""Columns of what `errors(name)` gets from a source."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """What arrived since the last chunk.

    Attributes:
        frame: rows in the declared columns and types (only the columns asked for); beside them `messages.FAULT`, where a
            reader asked for rows `by_part` and some have bad parts.
        rejected: records that could not be parsed or cast, as text with the reason; None when there were none.
        place: where a source that `Resumes` goes on behind these rows; None from others.
    """

    frame: pl.DataFrame
    rejected: pl.DataFrame | None = None
    place: object = None


class Trouble:
    """What keeps a source from reading just now, though it goes on trying.

    Attributes:
        text: for people, one sentence and what to do; None while all is well.
    """

    def __init__(self) -> None:
        self.text: str | None = None

    def over(self) -> None:
        """All is well."""
        self.text = None


class Remarks:
    """What a source has found while it read that people should know: each once, for as long as its rows are looked at.

    Attributes:
        texts: sentences.
        late_fields: fields that came after the columns had been found; None where nobody looks for them.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.late_fields: LateFields | None = None
        self._said: set[Hashable] = set()

    def say(self, about: Hashable, text: str) -> None:
        """Say it, unless something was said of the same."""
        if about not in self._said and len(self.texts) < _REMARKS:
            self._said.add(about)
            self.texts.append(text)


@dataclass(frozen=True, slots=True)
class Request:
    """What the reader wants.

    Attributes:
        columns: the columns wanted, in the schema's spelling; the source reads and converts no others, and a record whose
            only fault is in another column is not rejected. None for all; for none at all a source gives one column.
        stop: set when the reader has lost interest; a source blocking on input looks at it at least every 100 ms.
        trouble: where the source says what keeps it from reading, for views to show.
        remarks: where it says what it has found in its rows, for views to show.
        caught_up: set by a source that `Informs` once it has handed over what was there when it began.
        share: where a source that knows its end says how much it has read.
        by_part: whether a row with a bad part in an object or an array is to be handed over, that part NULL and told of in a
            column `messages.FAULT` of its chunk: the reader knows who asks for it.
    """

    columns: tuple[str, ...] | None = None
    stop: threading.Event = field(default_factory=threads.Event)
    trouble: Trouble = field(default_factory=Trouble)
    remarks: Remarks = field(default_factory=Remarks)
    caught_up: threading.Event = field(default_factory=threads.Event)
    share: Share = field(default_factory=Share)
    by_part: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """What a connector may use when it is opened.

    Attributes:
        uri: everything after SOURCE, such as `file://bids.jsonl`.
        schema: the declared columns, None when the statement declares none (the source then finds its own).
        options: the WITH options, names in lower case.
        namespace: the notebook's variables, for `frame://` and `python://`.
        figures: what the session that opens it tells of itself, for `system://`; None without a session.
    """

    uri: str
    schema: Schema | None
    options: Mapping[str, str]
    namespace: Mapping[str, object]
    figures: Figures | None = None

    @property
    def path(self) -> str:
        """What the URI says after its scheme."""
        return self.uri.partition("://")[2]


class Source(Protocol):
    """A connector, opened. Raises `SourceError` when it is made, if what it names isn't there."""

    schema: Schema
    """The columns it gives, in order."""
    replayable: bool
    """Whether every `read` starts from the beginning and gives the same rows."""
    units: Mapping[str, str]
    """Units of columns, where known: `{"cpu": "%"}`."""

    def read(self, request: Request) -> Iterator[Chunk]:
        """Hand over chunks; runs in a thread of its own. Ends when the source has ended or `request.stop` is set."""


class Prunable(Protocol):
    """A source that can leave columns out without changing which records it refuses, and fetch single rows again."""

    @property
    def prunable(self) -> bool:
        """Whether that holds for what it reads now."""

    def pick(self, rows: NDArray[np.int64]) -> pl.DataFrame:
        """All columns of some rows, by their number from 0 in the order of `read`, ascending."""


def prunes(source: object) -> TypeGuard[Prunable]:
    """Whether a source is `Prunable`, for what it reads now. Asked for once: to tell, a frame is looked at."""
    return bool(getattr(source, "prunable", False))


@runtime_checkable
class Peeks(Protocol):
    """A source whose first rows can be looked at without disturbing anybody: nothing is used up, nothing is called."""

    def peek(self) -> pl.DataFrame:
        """Some of its first rows as they are now. Raises `SourceError` when it can't be read any more."""


@runtime_checkable
class Informs(Protocol):
    """A source that sets `Request.caught_up`: where a live one has a past, its silence counts from then on."""

    catches_up: bool


@runtime_checkable
class Journaled(Protocol):
    """A source to which more comes, which can be read again in the order it had, by notes of how it was read."""

    def read_again(self, request: Request, journal: Path) -> Iterator[Chunk]:
        """As `read`, after what the journal says was read before. What is handed over is noted there first.

        Raises:
            SourceError: what was read before is no longer there.
        """


@runtime_checkable
class Resumes(Protocol):
    """A source that goes on at a place where a former read of it was, also one of a process that has ended."""

    def read_on(self, request: Request, place: object) -> Iterator[Chunk]:
        """As `read`, every chunk with the place behind it.

        Args:
            request: as of `read`.
            place: what a chunk of a former read had; None to begin at the beginning.

        Raises:
            SourceError: it can't go on there any more.
        """


@dataclass(frozen=True, slots=True)
class SourceConnector:
    """How to open the sources of one scheme.

    Attributes:
        scheme: what stands before `://`.
        example: a URI that shows its form.
        options: what can be said in WITH, besides what every source takes: name in lower case, what it does.
        open: makes the source; raises `SourceError` when what the URI names isn't there.
        to_end: options that have it end with what is there, where it would wait for more.
        also: other schemes of the same sources, such as the one over TLS.
    """

    scheme: str
    example: str
    options: Mapping[str, str]
    open: Callable[[Context], Source]
    to_end: Mapping[str, str] = field(default_factory=dict)
    also: tuple[str, ...] = ()


def wanted(schema: Schema, request: Request) -> tuple[Field, ...]:
    """The fields of a schema a request asks for, in the schema's order; the first one when it asks for none."""
    names = set(schema.names if request.columns is None else request.columns)
    found = tuple(f for f in schema if f.name in names) or schema.fields[:1]
    return tuple(replace(f, by_part=True) if f.dtype.is_nested() else f for f in found) if request.by_part else found
