"""Checkpoints of a session's queries: which folder each has, what it belongs to, and what can't be promised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Final

from jupyter_stream.checkpoints.identity import identity
from jupyter_stream.checkpoints.store import open_store, writer_of
from jupyter_stream.engine.cuts import EVERY, Cuts, KeptSideStreams
from jupyter_stream.engine.explain import explain
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.engine.side_streams import SideStream
from jupyter_stream.errors import QueryError
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.plan.logical import BoundQuery, streams
from jupyter_stream.secrets import hidden
from jupyter_stream.session.tables_of import tables_of
from jupyter_stream.sources.protocol import Resumes
from jupyter_stream.syntax.durations import parse_duration

OPTIONS: Final = ("checkpoint", "checkpoint_every", "checkpoint_reset")
"""What can be said of it behind WITH."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One query's.

    Attributes:
        path: the folder.
        every: seconds between cuts.
        reset: whether to begin anew.
        writer: what its sinks know it by.
    """

    path: Path
    every: float
    reset: bool
    writer: str


class Checkpoints:
    """Those of the queries of one text: the first has the folder that was said, the others folders in it.

    Args:
        path: what was said.
        every: the time between cuts, such as `5 seconds`; None for 10 s.
        reset: whether to begin anew.

    Raises:
        QueryError: that is no time, or no folder.
    """

    def __init__(self, path: str | Path, every: str | None = None, reset: bool = False) -> None:
        self._path = Path(path).expanduser().absolute()
        if self._path.exists() and not self._path.is_dir():
            raise QueryError(
                f"the checkpoint {self._path} is a file", hint="Name a folder; it is made if there is none."
            )
        micros = None if every is None else parse_duration(str(every))
        if every is not None and (micros is None or micros < 0):
            raise QueryError(
                f"the time between cuts can't be {every!r}", hint="Write for instance --checkpoint-every '5 seconds'."
            )
        self._every = EVERY if micros is None else micros / 1e6
        self._reset = reset
        self._number = 0

    def next(self) -> Checkpoint:
        """That of the next query of the text."""
        self._number += 1
        path = self._path if self._number == 1 else self._path / str(self._number)
        return Checkpoint(path, self._every, self._reset, writer_of(path, reset=self._reset))


def of_options(given: Mapping[str, str]) -> tuple[Checkpoints | None, dict[str, str]]:
    """What WITH (checkpoint = ...) asks for, and the options that are left for the sink."""
    rest = {name: value for name, value in given.items() if name.lower() not in OPTIONS}
    said = {name.lower(): value for name, value in given.items() if name.lower() in OPTIONS}
    if not said:
        return None, rest
    if "checkpoint" not in said:
        raise QueryError(f"{next(iter(said))} needs a checkpoint", hint="Write WITH (checkpoint = 'DIR').")
    reset = said.get("checkpoint_reset", "false").strip().lower() in ("true", "yes", "1")
    return Checkpoints(said["checkpoint"], said.get("checkpoint_every"), reset), rest


def begin(
    checkpoint: Checkpoint,
    pipeline: Pipeline,
    declared: Mapping[str, str],
    sides: Mapping[tuple[str, str], SideStream],
    sinks: Mapping[str, str],
) -> str | None:
    """Give a query its checkpoint, before it starts.

    Args:
        checkpoint: which.
        pipeline: the query.
        declared: how what it names is declared, by name.
        sides: the side streams it may add to.
        sinks: how it writes to each sink, by its address.

    Returns:
        What there is to say of sources that can't be read again; None without any.

    Raises:
        QueryError: the checkpoint is of another query, of another format or in use.
    """
    asked = identity(pipeline.query, str(explain(pipeline.graph)), declared, sinks)
    store = open_store(checkpoint.path, asked, version("jupyter-stream"), checkpoint.writer, reset=checkpoint.reset)
    pipeline.cuts = Cuts(store, checkpoint.every, list(tables_of(pipeline)), KeptSideStreams(dict(sides)))
    return _lost(streams(pipeline.query.plan))


def _lost(read: Sequence[StreamDef]) -> str | None:
    """What is said of sources that can't be read again."""
    once = [s for s in read if not s.source.replayable and not isinstance(s.source, Resumes)]
    if not once:
        return None
    names = " and ".join(f"{s.name} ({hidden(s.uri) or 'a side stream'})" for s in once)
    verb = "can't be read again" if len(once) == 1 else "can't be read again, either of them"
    return (
        f"{names} {verb}: rows that come after the last cut, or while the query doesn't run, are lost to it. "
        "What it has kept and written stays."
    )


def without_rates(bound: BoundQuery) -> BoundQuery:
    """The query with a plan that is the same whenever it is made."""
    return replace(bound, rates=type(bound.rates)())


__all__ = ["OPTIONS", "Checkpoint", "Checkpoints", "begin", "of_options", "without_rates"]
