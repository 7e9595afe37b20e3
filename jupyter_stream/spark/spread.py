"""Answers written where Spark makes them: by its executors, into files that get their names when the micro-batch is committed.

To this process come the names of the files, and what isn't answers: late rows, rows that failed, rows that the sink will never
take. Not for answers that anybody looks at here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final
from uuid import uuid4

import polars as pl

from jupyter_stream.core import logs
from jupyter_stream.core.garbage import spare_the_loaded
from jupyter_stream.core.messages import Batch, Failed
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.spark.answers import PieceWriter
from jupyter_stream.spark.blocks import WRITTEN, RefusedElsewhere, SinkAway, WrittenElsewhere, blocks_of, decoded
from jupyter_stream.spark.finish import Finish
from jupyter_stream.spark.inside import ROWS, pickled

log = logs.of(__name__)

_TOGETHER: Final = 100_000
"""Answers made at once of what Spark gives in small lots."""
_MOST: Final = 64 * 2**20
"""Bytes of answers that wait to be written to one file."""


@dataclass(frozen=True)
class Into:
    """A sink, as executors know it.

    Attributes:
        writer: writes rows.
        shape: the sink's columns of the answer's; None where they are the same.
        names: what they are called.
    """

    writer: PieceWriter
    shape: Evaluator | None
    names: tuple[str, ...]


class SpreadWriting:
    """Has Spark's executors write answers.

    Args:
        finish: makes answers of what Spark gives; None where operators of ours inside Spark say them.
        sinks: where they go.
    """

    def __init__(self, finish: Finish | None, sinks: Sequence[Into]) -> None:
        self._travels = pickled((finish, tuple(sinks)))

    def of(self, frame: Any) -> Any:
        """The DataFrame of what comes back, of that of a micro-batch."""
        return frame.mapInArrow(_writing(self._travels), f"`{WRITTEN}` BINARY")


def away(table: Any) -> str | None:
    """Why some of a micro-batch could not be written just now; None where all of it was."""
    for _, said in decoded(table.column(WRITTEN).to_pylist()):
        if isinstance(said, SinkAway):
            return said.why
    return None


def _writing(travels: bytes) -> Any:
    def write(batches: Iterable[Any]) -> Iterator[Any]:
        """What comes back of a task's batches."""
        import pickle

        import pyarrow as pa

        spare_the_loaded()
        finish, sinks = pickle.loads(travels)
        for block in _Task(finish, sinks).blocks(batches):
            yield pa.RecordBatch.from_arrays([pa.array([block], pa.binary())], [WRITTEN])

    return write


class _Task:
    """In a Python process of Spark's: one task of a micro-batch."""

    def __init__(self, finish: Finish | None, sinks: Sequence[Into]) -> None:
        self._finish = finish
        self._sinks = sinks
        self._tag = uuid4().hex  # a task that failed is tried again, and both may have written
        self._numbers = count(1)

    def blocks(self, batches: Iterable[Any]) -> Iterator[bytes]:
        """Blocks of what was written, and of what is no answer."""
        waiting: list[pl.DataFrame] = []
        size = 0
        try:
            for answers in self._answers(batches):
                if isinstance(answers, bytes):
                    yield answers
                    continue
                waiting.append(answers)
                size += int(answers.estimated_size())
                if size >= _MOST:
                    yield from self._written(waiting)
                    waiting, size = [], 0
            if waiting:
                yield from self._written(waiting)
        except OSError as error:
            yield from blocks_of([(0, SinkAway(f"answers can't be written: {error.strerror or error}"))])

    def _answers(self, batches: Iterable[Any]) -> Iterator[pl.DataFrame | bytes]:
        """Answers, and blocks of all else."""
        import pyarrow as pa

        if self._finish is None:
            for block in (b for batch in batches for b in batch.column(ROWS).to_pylist()):
                ((_, said),) = decoded([block])
                yield said.frame if isinstance(said, Batch) else block
            return
        for lots in _together(batches):
            for made in self._finish.answers(pa.Table.from_batches(lots)):
                if isinstance(made, Failed):
                    yield from blocks_of([(0, made)])
                else:
                    yield made

    def _written(self, waiting: list[pl.DataFrame]) -> Iterator[bytes]:
        rows, number = pl.concat(waiting), next(self._numbers)
        for i, sink in enumerate(self._sinks):
            shaped = rows.select(sink.names) if sink.shape is None else rows
            if sink.shape is not None:
                _, columns, failed = sink.shape.evaluate(rows)
                shaped = pl.DataFrame([c.alias(n) for c, n in zip(columns, sink.names, strict=True)])
                if failed is not None:
                    yield from blocks_of([(0, RefusedElsewhere(i, failed))])
            if shaped.height:
                yield from blocks_of(
                    [(0, WrittenElsewhere(i, sink.writer.written_apart(shaped, f"{self._tag}-{number}")))]
                )


def _together(batches: Iterable[Any]) -> Iterator[list[Any]]:
    """Batches of so many rows in all; none of those that are empty."""
    found: list[Any] = []
    for batch in batches:
        if batch.num_rows:
            found.append(batch)
        if sum(b.num_rows for b in found) >= _TOGETHER:
            yield found
            found = []
    if found:
        yield found


__all__ = ["Into", "SpreadWriting", "away"]
