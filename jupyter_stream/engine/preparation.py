"""What becomes of a source's rows before they are a stream's: WHERE and computed columns of CREATE STREAM.

In the thread that reads the source, in front of whatever engine there is. A row that can't be computed goes to `errors(name)`.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from jupyter_stream.core.messages import FAULT, Batch, Failed
from jupyter_stream.engine.error_rows import as_errors
from jupyter_stream.flow.filter import FilterOperator
from jupyter_stream.flow.project import ProjectOperator
from jupyter_stream.functions.expression import Column
from jupyter_stream.plan.catalog import Kept, Step, StreamDef
from jupyter_stream.plan.parts_read import Path, asks, paths
from jupyter_stream.sources.conform import both, rejected
from jupyter_stream.sources.protocol import Chunk


class Preparation:
    """The steps of one stream."""

    def __init__(self, stream: StreamDef) -> None:
        self._schema = stream.schema
        self._steps = [(_operator(step), _read(step)) for step in stream.steps]

    def of(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """The chunks of a source as the stream's."""
        return map(self.take, chunks) if self._steps else chunks

    def take(self, chunk: Chunk) -> Chunk:
        """A chunk of the source as one of the stream's."""
        frame, refused = chunk.frame, chunk.rejected
        for operator, read in self._steps:
            frame, bad = _whole(frame, read)
            refused = both(refused, bad)
            out: pl.DataFrame | None = None
            for message in operator.on_batch(0, Batch(frame)) if frame.height else ():
                if isinstance(message, Failed):
                    refused = both(refused, as_errors(message))
                elif isinstance(message, Batch):
                    out = message.frame
            if out is None:
                frame = self._schema.empty()
                break
            frame = out
        return Chunk(frame, refused, chunk.place)


def _operator(step: Step) -> FilterOperator | ProjectOperator:
    return FilterOperator(step.predicate) if isinstance(step, Kept) else ProjectOperator(step.items)


def _read(step: Step) -> frozenset[Path]:
    """The parts of columns that a step computes something from."""
    if isinstance(step, Kept):
        return frozenset(paths(step.predicate))
    made = [e for name, e in step.items if not (isinstance(e, Column) and e.name == name)]
    return frozenset(path for e in made for path in paths(e))


def _whole(frame: pl.DataFrame, read: frozenset[Path]) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """The rows without a bad part among those that are read, and what to say of the others."""
    if FAULT not in frame.columns:
        return frame, None
    faults = frame.get_column(FAULT).to_list()
    bad: dict[int, str] = {}
    for row, fault in enumerate(faults):
        for part, why in zip(fault["at"], fault["why"], strict=True) if fault is not None else ():
            if asks(read, part):
                bad.setdefault(row, why)
    if not bad:
        return frame, None
    keep = pl.repeat(True, frame.height, eager=True).scatter(list(bad), False)
    return frame.filter(keep), rejected([faults[row]["raw"] for row in bad], list(bad.values()))
