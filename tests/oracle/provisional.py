"""What is open after some of the rows: the provisional answers that are exact over what has arrived."""

from __future__ import annotations

from dataclasses import replace

from tests.oracle import extents
from tests.oracle import rows as of_rows
from tests.oracle.answer import answer
from tests.oracle.progress import Arrived, KeyedPunctuation, PunctuationColumn, after_these
from tests.oracle.query import Query, Stream
from tests.oracle.values import Row, Value, same_key
from tests.oracle.windows import RowExtents, TimeExtents, TupleExtents


def promised(stream: Stream) -> int | None:
    """The punctuation after all rows of the stream."""
    arrived = stream.arrived()
    said: list[int] = []
    if isinstance(stream.progress, PunctuationColumn):
        said = [r[stream.progress.column] for r in stream.rows if r[stream.progress.column] is not None]  # type: ignore[misc]
    return after_these([r.ts for r in arrived], said, stream.progress)


def promised_of(stream: Stream, key: Value) -> int | None:
    """The punctuation after all rows of the stream, for one key of group-wise ones."""
    rule = stream.progress
    assert isinstance(rule, KeyedPunctuation)
    rows = [r for r in stream.rows if r[rule.column] is not None]
    said = [r[rule.column] for r in rows if r[rule.key] is None or same_key(r[rule.key]) == same_key(key)]
    return max(said, default=None)  # type: ignore[type-var]


def open_after(query: Query, rows: int) -> list[Row]:
    """The answers that are not final once so many rows have come."""
    query = replace(query, stream=replace(query.stream, rows=query.stream.rows[:rows]), emit_every=None)
    window = query.window
    if isinstance(window, RowExtents):
        return of_rows.results(query, window, query.stream.arrived(), only_open=True)
    if isinstance(query.stream.progress, KeyedPunctuation):
        key = query.stream.progress.key
        of_key = [(r, promised_of(query.stream, r[key])) for r in answer(query).rows]
        return [r for r, said in of_key if said is None or r["window_end"] > said]  # type: ignore[operator]
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
