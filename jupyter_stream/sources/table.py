"""A declared table read as if it were a stream: all it holds when the reading begins. Not a connector; no URI opens it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jupyter_stream.core.table import TableRows
from jupyter_stream.sources.protocol import BATCH_ROWS, Chunk, Request, wanted


class TableSource:
    """The rows of a table.

    Args:
        rows: the table.
    """

    replayable = True
    units: Mapping[str, str] = {}

    def __init__(self, rows: TableRows) -> None:
        self.rows = rows
        self.schema = rows.schema

    def read(self, request: Request) -> Iterator[Chunk]:
        """What the table holds now."""
        frame = self.rows.frame.select(f.name for f in wanted(self.schema, request))
        for piece in frame.iter_slices(BATCH_ROWS):
            if request.stop.is_set():
                return
            yield Chunk(piece)
