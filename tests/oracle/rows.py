"""Answers of windows of rows: every partition's rows listed, every extent cut out of the list."""

from __future__ import annotations

from tests.oracle.extents import grouped, result_row
from tests.oracle.progress import Arrived
from tests.oracle.query import Answer, Query
from tests.oracle.values import Row
from tests.oracle.windows.rows import RowExtents


def row_windowed(query: Query, window: RowExtents) -> Answer:
    """What a query over a window of rows gives. No row is late for it."""
    arrived = query.stream.arrived()
    answer = Answer(rows=results(query, window, arrived))
    if query.emit_every is not None:
        for i, r in enumerate(arrived):
            if i and r.ts // query.emit_every > max(e.ts for e in arrived[:i]) // query.emit_every:
                answer.snapshots.append((r.ts, results(query, window, arrived[: i + 1], only_open=True)))
    return answer


def results(query: Query, window: RowExtents, arrived: list[Arrived], only_open: bool = False) -> list[Row]:
    """The rows of all extents, or of those that wait for more rows."""
    counted = [r for r in arrived if window.where is None or window.where.truth(r.row) is True]
    found: list[Row] = []
    for rows in grouped(window.partition, counted) if window.partition else [counted]:
        for k, first, last in window.extents(len(rows)):
            if only_open and k * window.slide <= len(rows):
                continue
            inside = [r for r in rows[first - 1 : last] if query.passes(r.row)]
            grouped_by = query.keys or window.partition
            if not inside and (grouped_by or not between(query, window, rows, k, only_open)):
                continue
            for group in grouped(query.keys, inside) if query.keys else [inside]:
                result = result_row(query, group, {"window_start": first, "window_end": last})
                if query.keeps(result):
                    found.append(result)
    return found


def between(query: Query, window: RowExtents, rows: list[Arrived], k: int, only_open: bool) -> bool:
    """Whether an empty extent lies between two that hold rows; one that is only open has none after it yet."""
    full = [
        n for n, first, last in window.extents(len(rows)) if any(query.passes(r.row) for r in rows[first - 1 : last])
    ]
    return not only_open and bool(full) and full[0] < k < full[-1]
