"""Drives the real thing: a stream's rows as frames of chosen sizes, through a session, to plain rows."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Sequence
from typing import Protocol
from unittest.mock import patch

import polars as pl

from jupyter_stream.engine import feed
from jupyter_stream.session.session import Session
from tests.oracle.compare import assert_same_bag, in_columns, plain_rows
from tests.oracle.query import Answer, Stream
from tests.oracle.values import Value
from tests.oracle.windows import Lifetime

TYPES: dict[str, pl.DataType] = {
    "INT": pl.Int32(),
    "BIGINT": pl.Int64(),
    "DOUBLE": pl.Float64(),
    "STRING": pl.String(),
    "BOOLEAN": pl.Boolean(),
    "TIMESTAMP": pl.Datetime("us"),
}
PATIENCE = 240.0
"""Seconds to wait for an answer; a query that takes longer hangs."""


def frame(stream: Stream) -> pl.DataFrame:
    """All rows of a stream, in arrival order."""
    columns = []
    for name, kind in stream.columns:
        values = [row[name] for row in stream.rows]
        physical = pl.Int64() if kind == "TIMESTAMP" else TYPES[kind]
        columns.append(pl.Series(name, values, dtype=physical, strict=True).cast(TYPES[kind]))
    return pl.DataFrame(columns)


def batches(stream: Stream, sizes: list[int] | None) -> list[pl.DataFrame]:
    """The rows in frames of these sizes; None for one frame."""
    whole = frame(stream)
    found, at = [], 0
    for size in [whole.height] if sizes is None else sizes:
        found.append(whole.slice(at, size))
        at += size
    return found


class Asked(Protocol):
    """A SELECT over one stream, as data: the oracle's queries of any kind."""

    @property
    def stream(self) -> Stream:
        """What it reads."""

    @property
    def window(self) -> object:
        """A `Lifetime` for a relation."""

    @property
    def emit_every(self) -> int | None:
        """Microseconds of EMIT EVERY."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the result's columns, in order."""

    def sql(self) -> str:
        """The SELECT."""


class Ran:
    """What the real thing gave for a query.

    Attributes:
        columns: names of the result's columns.
        rows: the answer.
        late_columns: names of the columns of `q.late`.
        late: its rows.
        changes: (op, at, columns...) of a relation's change log.
        provisional: of an EMIT EVERY query, the provisional rows in the order they came.
    """

    def __init__(
        self,
        query: Asked,
        sizes: list[int] | None = None,
        uri: str = "python://rows",
        others: Sequence[Stream] = (),
        strategy: str | None = None,
        before: str = "",
    ) -> None:
        """Run the query; `others` are declared as well, from `frame://NAME`; `strategy` as of `Session.run`."""
        session = Session({"rows": batches(query.stream, sizes), "whole": frame(query.stream)})
        session.namespace.update({other.name: frame(other) for other in others})
        # Waiting frames are joined up to a batch; here each is to stay as it is.
        with patch.object(feed, "BATCH_ROWS", 0):
            try:
                session.execute(before)
                for other in others:
                    session.execute(other.sql(f"frame://{other.name}"))
                if not others:
                    session.execute(query.stream.sql(uri))
                (handle,) = session.execute(query.sql(), strategy=strategy)
                assert handle.wait(PATIENCE), f"still {handle.status} after {PATIENCE} seconds\n{stacks()}"
                assert handle.status == "finished", handle.status
                result, late, history = handle.to_polars(), handle.late, handle.changes()
            finally:
                session.close()
        self.columns: list[str] = result.columns
        self.rows = plain_rows(result)
        self.late_columns: list[str] = late.columns
        self.late = plain_rows(late)
        self.changes: list[tuple[Value, ...]] = []
        self.provisional: list[tuple[Value, ...]] = []
        if isinstance(query.window, Lifetime):
            self.changes = plain_rows(history.select("op", "at", *query.columns))
        elif query.emit_every is not None:
            self.provisional = plain_rows(history.filter(~history["is_final"]).select(query.columns))


def stacks() -> str:
    """Where every thread is, for a query that hangs."""
    names = {t.ident: t.name for t in threading.enumerate()}
    parts = [f"{names.get(i)}:\n{''.join(traceback.format_stack(f))}" for i, f in sys._current_frames().items()]
    return "\n".join(parts)


def show(query: Asked, sizes: list[int] | None) -> str:
    """The example as a person would reproduce it."""
    rows = "\n".join(f"  {row}" for row in query.stream.rows)
    return f"{query.stream.sql('python://rows')};\n{query.sql()};\nbatches of {sizes or 'all'}:\n{rows}"


def assert_right(query: Asked, expected: Answer, ran: Ran, sizes: list[int] | None = None) -> None:
    """Fail unless the real thing gave the expected answer and the expected late rows."""
    about = show(query, sizes)
    columns = [*query.columns, *(["is_final"] if query.emit_every else [])]
    assert ran.columns == columns, f"columns {ran.columns}, expected {columns}\n{about}"
    rows = in_columns(expected.rows, query.columns)
    assert_same_bag(ran.rows, [(*r, True) for r in rows] if query.emit_every else rows, columns, about)
    names = [name for name, _ in query.stream.columns]
    assert ran.late_columns == [*names, "punctuation", "missed"], f"late columns {ran.late_columns}\n{about}"
    late = [(*(row[n] for n in names), punctuation, missed) for row, punctuation, missed in expected.late]
    assert_same_bag(ran.late, late, ran.late_columns, f"late rows\n{about}", frozenset({"ts", "punctuation"}))
