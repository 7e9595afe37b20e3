"""What a sink is: something that takes answers in commits, each of which is there whole or not at all in the end.

Readers see commits of databases and of Delta tables whole; of a commit in several files some before others, each of them whole.

A writer (`writer.py`) calls a sink from one thread: `append`, `upsert` or `replace`, then `commit`. What raises
`SinkUnreachable` is tried again from the last commit on, after `abort`; so a sink keeps nothing of what wasn't committed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias, runtime_checkable

import polars as pl

from jupyter_stream.core.schema import Schema
from jupyter_stream.secrets import hidden

Mode: TypeAlias = Literal["append", "upsert", "changes", "replace"]
"""How answers are written."""
MODES: Final[dict[Mode, str]] = {
    "append": "rows are added",
    "upsert": "a row takes the place of the one with its key, and rows that leave the answer are deleted",
    "changes": "the change log is added: each change with `op` (+1 or -1) and `at`",
    "replace": "the sink holds this answer alone",
}
"""The modes, and what each does."""
Promise: TypeAlias = Literal["exactly once", "at least once"]
"""How often a row is there in the end: at least once says that a row may come again after a failure, with its `row_id`."""

ROW_ID: Final = "row_id"
"""The column that sinks get which take rows at least once: the same text whenever the same row comes again."""


class SinkUnreachable(Exception):
    """The sink can't be reached, or can't take anything, just now.

    Args:
        text: a sentence for people; passwords in it are hidden.
        seconds: how long it asks to be left alone; None where it doesn't.
    """

    def __init__(self, text: str, seconds: float | None = None) -> None:
        super().__init__(hidden(text))
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Target:
    """What a sink is opened for.

    Attributes:
        uri: everything behind TO, such as `file://answers/`.
        schema: the columns that `append`, `upsert` and `replace` will give, in order, `row_id`, `op` and `at` among them.
        mode: how rows will come.
        key: the columns that tell rows apart, for `upsert`; else empty.
        relation: whether the answer is a state that changes, rather than rows that only become more.
        options: the WITH options, names in lower case; those of the URI behind `?` among them.
        namespace: the notebook's variables, for `python://`.
        writer: tells this writer from all others, and is the same when it begins again where it was.
        resumes: whether it may begin again: the query has a checkpoint.
    """

    uri: str
    schema: Schema
    mode: Mode
    key: tuple[str, ...]
    relation: bool
    options: Mapping[str, str]
    namespace: Mapping[str, object]
    writer: str
    resumes: bool = False

    @property
    def path(self) -> str:
        """What the URI says after its scheme, without options."""
        return self.uri.partition("://")[2].partition("?")[0]


class Sink(Protocol):
    """A connector, opened for one query. All methods but the constructor are called by one thread."""

    def check(self) -> None:
        """Look whether it could take the answer, before the query starts. Nothing is changed.

        Raises:
            SinkError: it never could; with what to write instead.
            SinkUnreachable: that can't be told just now.
        """

    def append(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        """Take rows (or changes, where the mode is `changes`). Nobody sees them before `commit`.

        Returns:
            Rows it will never take, as `raw` and `reason`; None where there are none.

        Raises:
            SinkUnreachable: not just now.
        """

    def upsert(self, rows: pl.DataFrame, gone: pl.DataFrame) -> pl.DataFrame | None:
        """Take rows, each in place of the one that has its key, and delete those of some keys. As `append` otherwise.

        Args:
            rows: no key twice.
            gone: key columns only, none of them in `rows`.
        """

    def replace(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        """Take rows in place of all there are. As `append` otherwise."""

    def commit(self, number: int, position: str) -> None:
        """Show what was taken since the last commit, all of it at once.

        Doing it again with the same number, after a failure of which nobody knows what came of it, changes nothing.

        Args:
            number: counts this writer's commits from 1.
            position: how far the query is, kept with the rows; empty where it wasn't asked to note that.

        Raises:
            SinkUnreachable: not just now; nothing of it is seen, or all of it.
        """

    def abort(self) -> None:
        """Forget what was taken since the last commit."""

    def committed(self) -> tuple[int, str] | None:
        """Number and position of this writer's last commit, as the sink has kept them; None where it knows of none.

        Raises:
            SinkUnreachable: that can't be told just now.
        """

    def close(self) -> None:
        """Let go of it."""


class WritesApart(Protocol):
    """What writes rows of a sink elsewhere, as where they are made. It travels there."""

    def written_apart(self, rows: pl.DataFrame, tag: str) -> pl.DataFrame:
        """Write rows that nobody sees yet; what `adopt` is to be told of them, with their number as `rows`.

        Args:
            rows: in the sink's columns.
            tag: tells this from everything else that is written.

        Raises:
            OSError: not just now.
        """


@runtime_checkable
class TakesPieces(Protocol):
    """A sink that also takes what was written elsewhere."""

    def apart(self) -> WritesApart | None:
        """What writes it; None where it can't be. What a former run wrote and never committed is taken away.

        Raises:
            SinkUnreachable: not just now.
        """

    def adopt(self, pieces: pl.DataFrame) -> None:
        """Take what was written, with the next commit. Raises `SinkError` where it isn't there."""


@dataclass(frozen=True, slots=True)
class SinkConnector:
    """How to open the sinks of one scheme.

    Attributes:
        scheme: what stands before `://`.
        example: a URI that shows its form.
        options: what can be said in WITH, besides what every sink takes: name in lower case, what it does.
        modes: those it takes, the one for relations that is taken unless said otherwise first.
        promise: how often a row is there in the end.
        how: how it keeps that, a sentence.
        open: makes the sink, without reaching out; raises `SinkError` where it can't be.
        also: other schemes of the same sinks, such as the one over TLS.
        is_web: whether what stands behind `?` in an address is for the server, and no option.
        exact: whether with these options, names in lower case, a query with a checkpoint has each row exactly once, where the
            promise is less. Raises `SinkError` for an option that can't be.
    """

    scheme: str
    example: str
    options: Mapping[str, str]
    modes: tuple[Mode, ...]
    promise: Promise
    how: str
    open: Callable[[Target], Sink]
    also: tuple[str, ...] = ()
    is_web: bool = False
    exact: Callable[[Mapping[str, str]], bool] = lambda _: False

    def promise_of(self, options: Mapping[str, str], *, resumes: bool) -> Promise:
        """How often a row of one query is there in the end.

        Args:
            options: what is said in WITH, names in lower case.
            resumes: whether it has a checkpoint.
        """
        return "exactly once" if resumes and self.exact(options) else self.promise

    def promised(self, options: Mapping[str, str]) -> str:
        """The promise to any query, for people."""
        better = self.promise_of(options, resumes=True)
        return self.promise if better == self.promise else f"{better} with a checkpoint, else {self.promise}"
