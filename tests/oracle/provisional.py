"""What is open after some of the rows: the provisional answers that are exact over what has arrived."""

from __future__ import annotations

from dataclasses import replace

from tests.oracle import extents
from tests.oracle import rows as of_rows
from tests.oracle.answer import answer
from tests.oracle.progress import Arrived, PunctuationColumn, after_these
from tests.oracle.query import Query, Stream
from tests.oracle.values import Row
from tests.oracle.windows import RowExtents, TimeExtents, TupleExtents


def promised(stream: Stream) -> int | None:
    """The punctuation after all rows of the stream."""
    arrived = stream.arrived()
    said: list[int] = []
    if isinstance(stream.progress, PunctuationColumn):
        said = [r[stream.progress.column] for r in stream.rows if r[stream.progress.column] is not None]  # type: ignore[misc]
    return after_these([r.ts for r in arrived], said, stream.progress)


def open_after(query: Query, rows: int) -> list[Row]:
    """The answers that are not final once so many rows have come."""
    query = replace(query, stream=replace(query.stream, rows=query.stream.rows[:rows]), emit_every=None)
    window = query.window
    if isinstance(window, RowExtents):
        return of_rows.results(query, window, query.stream.arrived(), only_open=True)
    closed = None if window.on is not None else promised(query.stream)  # type: ignore[union-attr]
    if isinstance(window, TimeExtents) and window.range is None:
        placed = [extents.place(window, r) for r in query.stream.arrived()]
        kept = [r for r in placed if query.passes(r.row)]
        # the extent that holds what comes next is open, though no row of its own has come
        told = [Arrived({}, closed, 0, None)] if closed is not None else []
        return extents.results(query, window, kept, placed + told, closed, final=False)
    found = answer(query).rows
    if closed is None:
        return found
    at = closed if isinstance(window, TupleExtents) else closed + 1
    assert isinstance(window, TimeExtents | TupleExtents) or window.gap
    return [r for r in found if r["window_end"] >= at]  # type: ignore[operator]
